# Sourced after tools/deps.sh by tests/debian13 and tests/packages: Debian systems in folders, made by debootstrap, and what
# runs in them. Needs root, since it mounts in them and enters them.
# SHUNT_DEBIAN_MIRROR: where packages come from; debootstrap's default without it.

# Dies where no system can be made or entered. $1: who asks.
shunt_require_roots() {
  ((EUID == 0)) || shunt_die "$1 makes systems below build/, mounts there and enters them:
only root can. Run it with sudo."
  shunt_install debootstrap
  command -v debootstrap >/dev/null || shunt_die "debootstrap is not installed."
  unshare --mount true 2>/dev/null ||
    shunt_die "no mounts can be made here (unshare --mount failed): a container needs CAP_SYS_ADMIN for $1."
}

# shunt_make_root <12 or 13> <folder>: the smallest Debian of that version there, unless one is there already.
shunt_make_root() {
  local version=$1 root=$2 suite mirror=${SHUNT_DEBIAN_MIRROR:-}
  case $version in
    12) suite=bookworm ;;
    13) suite=trixie ;;
    *) shunt_die "no Debian $version is known here; there are 12 and 13" 2 ;;
  esac
  if [[ ! -e $root/etc/debian_version ]]; then
    shunt_say "making a Debian $version in $root"
    rm -rf --one-file-system "$root.part"
    mkdir -p "$root.part"
    debootstrap --variant=minbase "$suite" "$root.part" ${mirror:+"$mirror"} >"$root.log" 2>&1 ||
      shunt_die "debootstrap failed; its output is in $root.log. Is ${mirror:-its mirror of Debian} reachable?"
    # clang 19 is among a stable release's updates.
    sed -E 's/^(deb [^ ]+ )'"$suite"' (.*)$/&\n\1'"$suite"'-updates \2/' -i "$root.part/etc/apt/sources.list"
    mv "$root.part" "$root"
  fi
  [[ $(<"$root/etc/debian_version") == "$version"* ]] ||
    shunt_die "$root holds a Debian $(<"$root/etc/debian_version"), not $version." 2
}

# shunt_copy_tree <folder>: the files that git knows, as they are now, to <folder>/shunt; times come along, so that only what
# changed is built again.
shunt_copy_tree() {
  shunt_say "copying the tree to $1/shunt"
  local files
  files=$(mktemp)
  git -c safe.directory="$PWD" ls-files -z >"$files" || shunt_die "the files that git knows are taken: this needs a git checkout."
  mkdir -p "$1/shunt"
  find "$1/shunt" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done <"$files" |
    tar --null --no-recursion --files-from=- --create | tar --extract --directory="$1/shunt" --no-same-owner
  rm -f "$files"
}

# shunt_enter <folder> <command...>: runs it there, in /shunt. Mounts and processes end with it.
shunt_enter() {
  local root
  root=$(readlink -f "$1")
  shift
  [[ ! -e /etc/resolv.conf ]] || cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  mkdir -p "$root/shunt"
  unshare --mount --pid --fork --kill-child -- bash -c '
    set -e
    root=$1; shift
    mount --make-rprivate /
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
    cd "$root/shunt"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" \
      ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
      chroot "$root" sh -c "cd /shunt && exec \"\$@\"" sh "$@"' bash "$root" "$@"
}
