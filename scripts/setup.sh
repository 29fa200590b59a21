# Sourced by the other scripts: makes a virtual environment with the versions of requirements.lock, or from Python 3.12 on
# of requirements-3.12.lock, from nothing but Python and pip, and sets $venv and $lock. A second call finds everything in
# place. PYTHON chooses the Python, POSENC_VENV the folder.

find_python() {
  for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3 python}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "Python 3.11 or newer is needed and was not found (looked for: ${PYTHON:-python3.11, python3.12, python3.13, python3, python})." >&2
  echo "Install it, or name it: PYTHON=/path/to/python $0" >&2
  return 1
}

lock_of() {
  "$1" -c 'import sys; print("requirements.lock" if sys.version_info < (3, 12) else "requirements-3.12.lock")' 2>/dev/null
}

# What an environment is made of, and whose code it runs.
wanted() {
  echo "$(cat "$lock" pyproject.toml | cksum) $(pwd -P)"
}

venv=${POSENC_VENV:-.venv}
stamp=$venv/installed
lock=$(lock_of "$venv/bin/python") || lock=
if [ -z "$lock" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$(wanted)" ]; then
  case " $* " in  # a question is answered by the script's first lines, before gigabytes are installed
  *" --help "* | *" -h "*)
    sed -n '2,/^[^#]/s/^# //p' "$0"
    exit
    ;;
  esac
  python=$(find_python)
  lock=${lock:-$(lock_of "$python")}
  echo "Setting up $venv with $("$python" --version) (about 1.7 GB, two or three minutes; only when $lock changes, or this folder) ..." >&2
  # A Python without ensurepip cannot put pip into the environment; its own pip installs there then.
  "$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv "$venv" >/dev/null 2>&1 ||
    "$python" -m venv --without-pip "$venv"
  if "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    pip="$venv/bin/python -m pip"
  else
    pip="$python -m pip --python $venv/bin/python"
  fi
  rm -f "$stamp"
  $pip install --quiet --disable-pip-version-check -r "$lock"
  $pip install --quiet --disable-pip-version-check --no-deps -e .
  wanted > "$stamp"
fi
