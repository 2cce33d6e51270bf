# Sourced by tests/run, bench/run, bench/bars, docs/build and .ci/run: the one list of packages, and what the scripts
# share.
# Needs bash and `set -euo pipefail` in the caller.
#
# What a script does is a line for each stage, with the minutes and seconds since it began. What programs of others print, apt,
# cmake and the compiler, goes to a log (shunt_log_to); its last lines are shown where one fails.

# What it takes to build and run the library, the compiler, bin/shunt and the examples.
shunt_library_packages=(
  clang-19 llvm-19 llvm-19-dev lld-19
  ninja-build cmake
  libopenblas-dev libopenblas0-pthread libxsmm-dev libdnnl-dev libtbb-dev libfmt-dev libyaml-cpp-dev nlohmann-json3-dev libcli11-dev
  zlib1g-dev libzstd-dev
)
# What the tests add.
shunt_test_packages=(
  libclang-rt-19-dev clang-format-19 g++ pkg-config git ccache
  libgtest-dev libgmock-dev libmpfr-dev libbenchmark-dev gdb qemu-user patchelf python3 python3-venv python3-dev
  cmark-gfm doxygen
  pocl-opencl-icd ocl-icd-opencl-dev opencl-headers
)
shunt_packages=("${shunt_library_packages[@]}" "${shunt_test_packages[@]}")
# What docs/build adds, pdoc of the Python index apart; the tests of the pages use the first two where they are there.
shunt_docs_packages=(cmark-gfm doxygen graphviz python3 python3-venv)
# What making packages adds (tests/packages).
shunt_package_packages=(dpkg-dev file binutils python3 python3-dev)
shunt_libtorch_packages=(libtorch-dev g++)
# What shunt_torch and its tests add; PyTorch itself is no package of Debian's that would do (tests/torch/environment).
shunt_torch_packages=(python3 python3-venv python3-dev)
# What bench/run adds, and bench/bars to that: it builds one of the tests, diff_test, and counts instructions with valgrind.
shunt_bench_packages=(libbenchmark-dev)
shunt_bars_packages=(g++ libgtest-dev libgmock-dev libmpfr-dev libbenchmark-dev valgrind)

shunt_say() { printf '== %2d:%02d  %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }

shunt_die() {
  printf '\nFAILED after %d min %d s: %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$1" >&2
  [[ ! ${shunt_log:-} ]] || printf 'The log: %s\n' "$shunt_log" >&2
  exit "${2:-1}"
}

# shunt_log_to <name>: what is run quietly from now on is logged in build/logs/<name>.log.
shunt_log_to() {
  shunt_log=build/logs/$1.log
  mkdir -p build/logs
  printf '%s\n' "$(date -u '+%F %T UTC'), $(uname -srm)" >"$shunt_log"
}

# Runs a command into the log; on a terminal, ninja's progress stands in one line. Shows the end of what a command that fails
# printed. Without a log: runs it.
shunt_quietly() {
  if [[ ! ${shunt_log:-} ]]; then "$@"; return; fi
  printf '\n$ %s\n' "$*" >>"$shunt_log"
  local lines status=0
  lines=$(wc -l <"$shunt_log")
  if [[ -t 1 ]]; then
    "$@" 2>&1 | tee -a "$shunt_log" | awk '/^\[[0-9]+\/[0-9]+\]/ { printf "\r   %s ", $1; fflush(); n = 1 } END { if (n) printf "\r%20s\r", "" }' || status=$?
  else
    "$@" >>"$shunt_log" 2>&1 || status=$?
  fi
  ((status == 0)) || { tail -n "+$((lines + 1))" "$shunt_log" | tail -n 40 >&2; }
  return "$status"
}

# Prints those of its arguments that are not installed.
shunt_missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null) == ii* ]] || printf '%s\n' "$package"
  done
}

# Installs what is missing of its arguments; asks apt nothing when all is there.
shunt_install() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || {
    shunt_say "not a Debian system: please install the counterparts of: $*"
    return 0
  }
  local missing=() as_root=()
  mapfile -t missing < <(shunt_missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || shunt_die "these packages are missing, and you are neither root nor have sudo. Ask for:
  apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  shunt_say "installing ${#missing[@]} packages: ${missing[*]}"
  local get=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300)
  local install=("${get[@]}" install --no-install-recommends)
  local log=${shunt_log:-/dev/null}
  "${install[@]}" "${missing[@]}" >>"$log" 2>&1 && return 0
  "${get[@]}" update >>"$log" 2>&1 || shunt_say "apt-get update failed; trying with the package lists that are here"
  "${install[@]}" "${missing[@]}" >>"$log" 2>&1 && return 0
  # One by one, so that the message can name the package.
  local package
  for package in "${missing[@]}"; do
    "${install[@]}" "$package" || shunt_die "package $package can't be installed (apt's message stands above).
Shunt needs Debian 12 (bookworm) with its main section and bookworm-updates (clang 19 comes from there), or Debian 13 (trixie).
Check /etc/apt/sources.list and the network, then run this again; installed packages stay."
  done
}

# Prints the version of a package that apt would install, nothing where it has none. Without package lists gets them.
shunt_candidate() {
  command -v apt-cache >/dev/null || return 0
  local as_root=() candidate
  candidate=$(shunt_known_candidate "$1")
  if [[ ! $candidate ]]; then
    ((EUID == 0)) || as_root=(sudo -n)
    "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 update >/dev/null 2>&1 || true
    candidate=$(shunt_known_candidate "$1")
  fi
  printf '%s' "$candidate"
}
shunt_known_candidate() {
  LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n '/(none)/d; s/^ *Candidate: *//p'
}

shunt_jobs() { nproc 2>/dev/null || echo 2; }

# shunt_build <preset> [cmake cache arguments...]: configures and builds it under build/<preset>; the targets of $shunt_targets,
# where that is set.
shunt_build() {
  local preset=$1
  shift
  shunt_say "building preset $preset with $(shunt_jobs) jobs${shunt_targets:+: $shunt_targets}"
  local log
  log=$(mktemp)
  cmake --preset "$preset" "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    rm -f "$log"
    shunt_die "cmake --preset $preset failed; its message stands above."
  }
  grep -E 'Shunt:' "$log" || true
  rm -f "$log"
  shunt_quietly cmake --build --preset "$preset" --parallel "$(shunt_jobs)" ${shunt_targets:+--target $shunt_targets} ||
    shunt_die "the build of preset $preset failed; the first error stands above or in the log."
}

# The names of the presets, for messages.
shunt_presets() { sed -n '/"buildPresets"/,/"testPresets"/s/.*"name": "\([a-z-]*\)".*/\1/p' CMakePresets.json | paste -sd ' '; }

# Makes an environment for the tests of shunt that need no PyTorch, and sets shunt_python; empty where there is no Python with
# headers, or no index of packages.
shunt_python_environment() {
  shunt_python=
  shunt_say "making an environment with NumPy and pytest in build/venv-python"
  if tests/python/environment build/venv-python; then
    shunt_python=$PWD/build/venv-python/bin/python
  else
    shunt_say "the tests of the Python package shunt are SKIPPED: no environment has NumPy and pytest (see above)"
  fi
}

# Makes an environment with PyTorch for the tests of shunt_torch, and sets shunt_torch_python; empty where PyTorch can't be had.
shunt_torch_environment() {
  shunt_torch_python=
  shunt_say "making an environment with PyTorch in build/venv-torch"
  if tests/torch/environment build/venv-torch; then
    shunt_torch_python=$PWD/build/venv-torch/bin/python
  else
    shunt_say "the tests of shunt_torch are SKIPPED: no environment has PyTorch (see above)"
  fi
}

# shunt_test_preset <preset> [ctest arguments...]: runs its tests and says where the machine stands.
shunt_test_preset() {
  local preset=$1
  shift
  shunt_say "running the tests of preset $preset"
  rm -f "build/$preset/test_times/"*
  ctest --test-dir "build/$preset" --output-on-failure --parallel "$(shunt_jobs)" --no-tests=error "$@"
}

# The best of Shunt's instruction sets that this CPU runs, as the dynamic loader sees it; SHUNT_ISA's where that is set.
shunt_native_isa() {
  local supported
  case ${SHUNT_ISA:-} in baseline|v3|v4) printf '%s' "$SHUNT_ISA"; return ;; esac
  supported=$(/lib64/ld-linux-x86-64.so.2 --help 2>/dev/null | sed -n 's/^ *x86-64-\(v[34]\) (supported.*/\1/p' | head -1)
  printf '%s' "${supported:-baseline}"
}

# Whether build/<preset> was configured with every instruction set.
shunt_has_all_isas() { grep -q '^SHUNT_ISA_LEVELS:.*=baseline;v3;v4$' "build/$1/CMakeCache.txt" 2>/dev/null; }

# OpenBLAS 0.3.21 takes CPUs younger than itself for SSE3 ones. Names the kernels this CPU can run, unless the user did;
# for every library in the process alike.
shunt_choose_blas_kernels() {
  [[ ${OPENBLAS_CORETYPE:-} ]] && return 0
  if grep -qw avx512bw /proc/cpuinfo; then export OPENBLAS_CORETYPE=SkylakeX
  elif grep -qw avx2 /proc/cpuinfo; then export OPENBLAS_CORETYPE=Haswell
  fi
}
