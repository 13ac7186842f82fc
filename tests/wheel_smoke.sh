#!/usr/bin/env bash
# The installed wheel, used from another folder with a new home: tests/wheel_smoke.sh BIN_DIR
set -euo pipefail
bin=$1
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/home" "$scratch/elsewhere"
cd "$scratch/elsewhere"
export HOME="$scratch/home"
unset NANOHERMES_HOME NANOHERMES_MODEL NANOHERMES_BASE_URL NANOHERMES_API_KEY

"$bin/nanoherm-tui" --version

echo "-- a headless turn of the demo"
"$bin/nanoherm-tui" --demo -p "fix the failing test" --output-format json >"$scratch/turn.json"
"$bin/python" - "$scratch/turn.json" <<'PY'
import json, sys
turn = json.load(open(sys.argv[1]))
assert turn["outcome"] == "completed", turn
assert turn["steps"] >= 3, turn
assert "refused" in turn["text"], "nobody is there to allow the edit, and the demo must say so"
PY

echo "-- what is stored, without a screen"
printf '{"messages": [{"role": "user", "content": "你好 there"}]}' >"$scratch/talk.json"
"$bin/nanoherm-tui" sessions import "$scratch/talk.json"
id=$("$bin/nanoherm-tui" sessions list --json | "$bin/python" -c '
import json, sys
print(next(row["id"] for row in json.load(sys.stdin) if row["title"] == "talk"))')
"$bin/nanoherm-tui" sessions search "你好" | grep -q there
"$bin/nanoherm-tui" sessions export "$id" "$scratch/talk.html"
grep -q "你好" "$scratch/talk.html"
"$bin/nanoherm-tui" sessions check

echo "-- what was decided, and what is in order"
"$bin/nanoherm-tui" audit --refused --json | "$bin/python" -c '
import json, sys
assert json.loads(sys.stdin.readline())["by"] == "unattended"'
{ "$bin/nanoherm-tui" doctor --offline --json || true; } | "$bin/python" -c '
import json, sys
states = {check["id"]: check["state"] for check in json.load(sys.stdin)["checks"]}
assert states["packages"] == states["store"] == states["home"] == "ok", states'

echo "-- what the import of the core loads"
"$bin/python" "$here/architecture/import_hygiene.py"

"$bin/python" - <<'PY'
from nanoherm_tui.theming.files import find_themes_dir
names = {p.stem for p in find_themes_dir().glob("*.yaml")}
assert {"nanoherm-dark", "nanoherm-light"} <= names, names
PY
echo "wheel ok"
