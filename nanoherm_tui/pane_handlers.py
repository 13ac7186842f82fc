"""Which function each message of a pane or an overlay goes to."""

from __future__ import annotations

from nanoherm_tui import pane_messages


class PaneHandlers:
    """Mixed into the app: Textual finds the handler of a message by its name."""

    on_composer_submitted = pane_messages.composer_submitted
    on_composer_slash_entered = pane_messages.composer_slash_entered
    on_composer_commands_wanted = pane_messages.composer_commands_wanted
    on_composer_snippets_wanted = pane_messages.composer_snippets_wanted
    on_composer_shell_entered = pane_messages.composer_shell_entered
    on_composer_draft_changed = pane_messages.composer_draft_changed
    on_composer_take_back_requested = pane_messages.composer_take_back_requested
    on_approval_panel_answered = pane_messages.approval_panel_answered
    on_tour_card_pressed = pane_messages.tour_card_pressed
    on_approval_panel_question_shown = pane_messages.approval_panel_question_shown
    on_composer_image_paste_requested = pane_messages.composer_image_paste_requested
    on_composer_image_preview_requested = pane_messages.composer_image_preview_requested
    on_file_tab_drawing_requested = pane_messages.file_tab_drawing_requested
    on_composer_images_pasted = pane_messages.composer_images_pasted
    on_mention_popup_image_taken = pane_messages.mention_popup_image_taken
    on_mention_popup_preview_requested = pane_messages.mention_popup_preview_requested
    on_palette_screen_previewed = pane_messages.palette_screen_previewed
    on_transcript_view_open_requested = pane_messages.transcript_view_open_requested
    on_transcript_view_earlier_requested = pane_messages.transcript_view_earlier_requested
    on_transcript_view_placed = pane_messages.transcript_view_placed
    on_transcript_view_stop_requested = pane_messages.transcript_view_stop_requested
    on_transcript_view_copy_requested = pane_messages.transcript_view_copy_requested
    on_transcript_view_path_requested = pane_messages.transcript_view_path_requested
    on_dock_copy_requested = pane_messages.dock_copy_requested
    on_tabbed_look_changed = pane_messages.tabbed_look_changed
    on_context_tab_context_requested = pane_messages.context_tab_context_requested
    on_context_tab_item_opened = pane_messages.context_tab_item_opened
    on_context_tab_view_chosen = pane_messages.context_tab_view_chosen
    on_comments_tab_message_wanted = pane_messages.comments_tab_message_wanted
    on_comments_tab_comments_changed = pane_messages.comments_tab_comments_changed
    on_list_tabs_asked = pane_messages.list_tabs_asked
    on_tasks_tab_brought = pane_messages.tasks_tab_brought
    on_tasks_tab_output_requested = pane_messages.tasks_tab_output_requested
    on_tasks_tab_kill_requested = pane_messages.tasks_tab_kill_requested
    on_tasks_tab_look_requested = pane_messages.tasks_tab_look_requested
    on_tasks_tab_stop_requested = pane_messages.tasks_tab_stop_requested
    on_tasks_tab_keep_requested = pane_messages.tasks_tab_keep_requested
    on_result_tab_spill_copy_requested = pane_messages.result_tab_spill_copy_requested
    on_result_tab_page_requested = pane_messages.result_tab_page_requested
    on_diff_tab_lines_requested = pane_messages.diff_tab_lines_requested
    on_status_line_inbox_requested = pane_messages.status_line_inbox_requested
    on_sessions_pane_opened = pane_messages.sessions_pane_opened
    on_sessions_pane_new_requested = pane_messages.sessions_pane_new_requested
    on_sessions_pane_fork_requested = pane_messages.sessions_pane_fork_requested
    on_sessions_pane_rename_requested = pane_messages.sessions_pane_rename_requested
    on_sessions_pane_export_requested = pane_messages.sessions_pane_export_requested
    on_sessions_pane_search_requested = pane_messages.sessions_pane_search_requested
    on_sessions_pane_compare_marked = pane_messages.sessions_pane_compare_marked
    on_sessions_pane_compare_requested = pane_messages.sessions_pane_compare_requested
    on_sessions_pane_restore_requested = pane_messages.sessions_pane_restore_requested
    on_sessions_pane_delete_requested = pane_messages.sessions_pane_delete_requested
