"""What the views and the commands of the shell say of figures, lists and changes: sentences and tables, no widgets."""
