"""Commands that run beside the conversation and may outlive the program."""
