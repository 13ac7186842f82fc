"""What the panes tell the app, and which command answers it: each function is the handler of one message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui import commands
from nanoherm_tui.actions import Slash, parse_slash
from nanoherm_tui.i18n import t

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.overlays.approval import ApprovalPanel
    from nanoherm_tui.overlays.mention import MentionPopup
    from nanoherm_tui.overlays.palette import PaletteScreen
    from nanoherm_tui.panes.composer import Composer
    from nanoherm_tui.panes.dock import Dock
    from nanoherm_tui.panes.sessions import SessionsPane
    from nanoherm_tui.transcript.view import TranscriptView


def composer_submitted(app: NanohermApp, message: Composer.Submitted) -> None:
    from agent_core import intents

    if (
        app.view is None or app.opening.first_prompts
    ):  # the first session cannot take it yet: they go in the order they came in
        app.opening.first_prompts.append(message.text)
        app.show_pending()
        return
    if not message.instead and app.conversations.looks.say(message.text):
        return
    if message.instead:
        app.conversations.looks.back()
        app.conversations.send(intents.Resend(message.instead, message.text))
    else:
        app.conversations.say((intents.Queue if message.how == "queue" else intents.Steer)(message.text))
    app.transcript.action_end()


def composer_slash_entered(app: NanohermApp, message: Composer.SlashEntered) -> None:
    parsed = parse_slash(message.text)
    if not isinstance(parsed, Slash):
        return
    if app.view is None and parsed.action.id not in commands.BEFORE_THE_CORE:
        app.composer.bring_back(message.text)
    else:
        commands.run(app, parsed.action.id, parsed.argument)


def composer_commands_wanted(app: NanohermApp) -> None:
    from nanoherm_tui.commands import snippets, typed

    typed.look(app)
    snippets.look(app)  # what /snippet takes


def composer_snippets_wanted(app: NanohermApp) -> None:
    from nanoherm_tui.commands.snippets import look

    look(app)


def composer_shell_entered(app: NanohermApp, message: Composer.ShellEntered) -> None:
    if app.view is None:
        app.composer.bring_back(("!!" if message.private else "!") + message.command)
        return
    from agent_core import intents

    app.conversations.looks.back()
    app.conversations.send(intents.Shell(message.command, message.private))
    app.transcript.action_end()


def composer_draft_changed(app: NanohermApp, message: Composer.DraftChanged) -> None:
    in_view = app.view is not None and message.key == app.view.id
    # Something may have been put into it, and kept, since it was told.
    app.host.keep_draft(message.key, app.composer.text if in_view else message.text)
    if app.tour is not None and message.text not in ("", t("welcome.demo_prompt")):
        leave_tour(app)  # something was pasted
    if app.composer.has_paste:
        meet(app, "paste")
    if message.text:  # a turn will follow: what it looks through first is looked through while the hands rest
        app.desk.do_beside(app.host.recollect, lambda _: None)


def composer_take_back_requested(app: NanohermApp) -> None:
    from agent_core import intents

    if app.opening.first_prompts:
        app.composer.bring_back(app.opening.first_prompts.pop())
        app.show_pending()
    else:
        app.conversations.send(intents.TakeBack())


def approval_panel_answered(app: NanohermApp, message: ApprovalPanel.Answered) -> None:
    from agent_core import intents

    asked = (waiting.question for waiting in app.view.waiting) if app.view is not None else ()
    form = next((one for one in asked if one.id == message.question_id and one.kind == "form"), None)
    if form is not None and message.decision == "once":
        from nanoherm_tui.commands.form import fill_in

        fill_in(app, form)
        return
    answer = intents.Answer(message.question_id, message.decision, message.text, message.pattern, message.refused)
    app.conversations.send(answer)


def meet(app: NanohermApp, name: str) -> None:
    """Something is there that a remark is about."""
    if app.remarks.on:
        from nanoherm_tui.commands import remarks

        remarks.meet(app, name)


def tour_card_pressed(app: NanohermApp) -> None:
    from nanoherm_tui.commands.tour import go_on

    go_on(app)


def leave_tour(app: NanohermApp) -> None:
    from nanoherm_tui.commands.tour import leave

    leave(app)


def approval_panel_question_shown(app: NanohermApp, message: ApprovalPanel.QuestionShown) -> None:
    question = message.question
    if question is not None and app.tour is not None:
        leave_tour(app)  # what it told of has come
    asks_for_changes = question is not None and bool(question.diffs)
    if question is not None and question.diffs:
        app.dock.show_diffs(question.diffs, asking=True, divides=question.kind == "edit")
    elif app.view is not None:
        app.dock.show_diffs(app.view.diffs, bring=False)
    app.show_while_asked(asks_for_changes)
    if question is not None and question.kind == "command":
        meet(app, "question")
    elif question is not None and sum(len(diff.hunks) for diff in question.diffs) > 1:
        meet(app, "hunks")


def composer_image_paste_requested(app: NanohermApp, message: Composer.ImagePasteRequested) -> None:
    from nanoherm_tui.commands.images import paste

    paste(app)


def composer_image_preview_requested(app: NanohermApp, message: Composer.ImagePreviewRequested) -> None:
    from nanoherm_tui.commands.looking import show_kept

    show_kept(app, message.name, message.words)


def file_tab_drawing_requested(app: NanohermApp, message: Dock.DrawingRequested) -> None:
    from nanoherm_tui.commands.looking import draw

    draw(app, message.picture, message.columns, message.rows)


def composer_images_pasted(app: NanohermApp, message: Composer.ImagesPasted) -> None:
    from nanoherm_tui.commands.images import dropped

    dropped(app, message.paths, message.text)


def mention_popup_image_taken(app: NanohermApp, message: MentionPopup.ImageTaken) -> None:
    from nanoherm_tui.commands.images import mentioned

    mentioned(app, message.path, message.written)


def mention_popup_preview_requested(app: NanohermApp, message: MentionPopup.PreviewRequested) -> None:
    from nanoherm_tui.commands.looking import preview

    preview(app, message.path, message.first, message.last)


def palette_screen_previewed(app: NanohermApp, message: PaletteScreen.Previewed) -> None:
    name = message.item.id.partition(":")[2] if message.item is not None else app.themes.chosen
    app.theming.use(name)


def transcript_view_open_requested(app: NanohermApp, message: TranscriptView.OpenRequested) -> None:
    from nanoherm_tui.commands.looking import open_call

    open_call(app, message.call_id, message.find)


def transcript_view_earlier_requested(app: NanohermApp, message: TranscriptView.EarlierRequested) -> None:
    if not app.conversations.looks.bring_earlier():
        app.conversations.bring_earlier()


def transcript_view_placed(app: NanohermApp) -> None:
    app.conversations.placed()


def transcript_view_stop_requested(app: NanohermApp) -> None:
    app.conversations.looks.stop()


def transcript_view_copy_requested(app: NanohermApp, message: TranscriptView.CopyRequested) -> None:
    app.copy(message.text, message.missing)


def transcript_view_path_requested(app: NanohermApp, message: TranscriptView.PathRequested) -> None:
    from nanoherm_tui.commands.looking import preview

    preview(app, message.path, message.line, message.line)


def dock_copy_requested(app: NanohermApp, message: Dock.CopyRequested) -> None:
    app.copy(message.text)


def tabbed_look_changed(app: NanohermApp) -> None:
    app.kept_look.keep()


def context_tab_context_requested(app: NanohermApp) -> None:
    from nanoherm_tui.commands.context import report

    report(app)


def context_tab_item_opened(app: NanohermApp, message: Dock.ItemOpened) -> None:
    from nanoherm_tui.commands.context import open_item

    open_item(app, message.item)


def context_tab_view_chosen(app: NanohermApp, message: Dock.ViewChosen) -> None:
    from nanoherm_tui.commands.context import set_view

    set_view(app, message.message_id, message.view)


def list_tabs_asked(app: NanohermApp, message: Dock.Asked) -> None:
    from nanoherm_tui.commands.dock_lists import answer

    answer(app, message.name, message.ask)


def comments_tab_message_wanted(app: NanohermApp, message: Dock.MessageWanted) -> None:
    from nanoherm_tui.commands.panes import focus_pane

    app.composer.bring_back(message.text)
    if app.view is not None and app.composer.is_restored:  # on disk there before it is gone from the comments
        app.host.keep_draft(app.view.id, app.composer.text)
    focus_pane(app, "composer")


def comments_tab_comments_changed(app: NanohermApp, message: Dock.CommentsChanged) -> None:
    app.conversations.keep_comments(message.comments)


def tasks_tab_brought(app: NanohermApp) -> None:
    app.ticking.keep()


def tasks_tab_output_requested(app: NanohermApp, message: Dock.OutputRequested) -> None:
    from nanoherm_tui.commands.tasks import read_output

    read_output(app, message.task_id, message.start, message.end)


def tasks_tab_kill_requested(app: NanohermApp, message: Dock.KillRequested) -> None:
    from nanoherm_tui.commands.tasks import kill

    kill(app, message.task_id)


def tasks_tab_look_requested(app: NanohermApp, message: Dock.LookRequested) -> None:
    app.conversations.looks.look(message.agent, from_dock=True)


def tasks_tab_stop_requested(app: NanohermApp, message: Dock.StopRequested) -> None:
    from nanoherm_tui.commands.agents import stop

    stop(app, message.agent_id)


def tasks_tab_keep_requested(app: NanohermApp, message: Dock.KeepRequested) -> None:
    from nanoherm_tui.commands.tasks import keep

    keep(app, message.task_id, message.keep)


def result_tab_spill_copy_requested(app: NanohermApp, message: Dock.SpillCopyRequested) -> None:
    from nanoherm_tui.commands.looking import copy_output

    copy_output(app, message.name)


def result_tab_page_requested(app: NanohermApp, message: Dock.PageRequested) -> None:
    from nanoherm_tui.commands.looking import read_page

    read_page(app, message.name, message.page)


def diff_tab_lines_requested(app: NanohermApp, message: Dock.LinesRequested) -> None:
    from nanoherm_tui.commands.looking import read_unchanged

    read_unchanged(app, message.change)


def status_line_inbox_requested(app: NanohermApp) -> None:
    commands.run(app, "inbox")


def sessions_pane_opened(app: NanohermApp, message: SessionsPane.Opened) -> None:
    from nanoherm_tui.commands.sessions import open_by_id

    open_by_id(app, message.session_id)


def sessions_pane_new_requested(app: NanohermApp, message: SessionsPane.NewRequested) -> None:
    commands.run(app, "new_in" if message.choose else "new", message.folder)


def sessions_pane_fork_requested(app: NanohermApp, message: SessionsPane.ForkRequested) -> None:
    commands.run(app, "fork", message.session_id)


def sessions_pane_rename_requested(app: NanohermApp, message: SessionsPane.RenameRequested) -> None:
    from nanoherm_tui.commands.sessions import rename_by_id

    rename_by_id(app, message.session_id)


def sessions_pane_export_requested(app: NanohermApp, message: SessionsPane.ExportRequested) -> None:
    from nanoherm_tui.commands.sessions import export_by_id

    export_by_id(app, message.session_id)


def sessions_pane_search_requested(app: NanohermApp) -> None:
    commands.run(app, "search")


def sessions_pane_compare_marked(app: NanohermApp, message: SessionsPane.CompareMarked) -> None:
    from nanoherm_tui.commands.compare import tell_marked

    tell_marked(app, message.session_id)


def sessions_pane_compare_requested(app: NanohermApp, message: SessionsPane.CompareRequested) -> None:
    from nanoherm_tui.commands.compare import side_by_side

    side_by_side(app, (message.first, message.second))


def sessions_pane_restore_requested(app: NanohermApp) -> None:
    commands.run(app, "restore")


def sessions_pane_delete_requested(app: NanohermApp, message: SessionsPane.DeleteRequested) -> None:
    commands.run(app, "delete", message.session_id)
