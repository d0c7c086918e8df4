#!/bin/sh
# Downloads a release of Jackfield by HTTPS, checks its SHA-256 digest and, with GitHub's CLI, who built it, and installs
# the program.
#
#   sh install.sh
#
# JACKFIELD_ADDRESS  the folder of the release, such as https://example.com/releases/download/v0.2.0
# JACKFIELD_BIN      where the program goes; by default ~/.local/bin
# JACKFIELD_TARGET   another target than that of this machine; the program is then not started before it is installed
#
# `cargo xtask dist` fills in the version and the address.
set -eu

version=""
address=""

fail() {
  echo "error: $1" >&2
  exit 1
}

# The repository whose release workflow signs the archives. A mirror changes nothing about it.
repository=""
case "$address" in
  https://github.com/*/*/releases/download/*)
    repository="${address#https://github.com/}"
    repository="${repository%/releases/download/*}"
    ;;
esac
address="${JACKFIELD_ADDRESS:-$address}"
bin="${JACKFIELD_BIN:-$HOME/.local/bin}"
[ -n "$version" ] || fail "this copy of the script is of no release: take the one beside the archives"
[ -n "$address" ] || fail "JACKFIELD_ADDRESS has to name the folder of the release"
case "$address" in
  https://*) ;;
  *) fail "$address does not begin with https://" ;;
esac

# The program with glibc needs 2.35; the one with musl is whole, and runs with any C library and without one.
libc() {
  glibc="$(getconf GNU_LIBC_VERSION 2>/dev/null || true)"
  case "$glibc" in
    "glibc 2."*)
      minor="${glibc#glibc 2.}"
      if [ "${minor%%[!0-9]*}" -ge 35 ] 2>/dev/null; then
        echo gnu
        return
      fi
      ;;
  esac
  echo musl
}

target="${JACKFIELD_TARGET:-}"
if [ -z "$target" ]; then
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) target="x86_64-unknown-linux-$(libc)" ;;
    Linux-aarch64 | Linux-arm64) target="aarch64-unknown-linux-$(libc)" ;;
    Darwin-x86_64) target="x86_64-apple-darwin" ;;
    Darwin-arm64) target="aarch64-apple-darwin" ;;
    *) fail "there is no archive for $(uname -s) on $(uname -m): build it with cargo" ;;
  esac
fi

if command -v sha256sum >/dev/null; then
  digest() { sha256sum "$1" | cut -d ' ' -f 1; }
elif command -v shasum >/dev/null; then
  digest() { shasum -a 256 "$1" | cut -d ' ' -f 1; }
else
  fail "neither sha256sum nor shasum is there to check the archive"
fi
command -v curl >/dev/null || fail "curl is missing"

name="jackfield-$version-$target"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
for file in "$name.tar.gz" "$name.tar.gz.sha256"; do
  # Redirects may not leave HTTPS either.
  curl --proto '=https' --tlsv1.2 --fail --location --silent --show-error --max-time 600 --output "$folder/$file" "$address/$file" ||
    fail "$address/$file cannot be downloaded"
done

wanted="$(cut -d ' ' -f 1 "$folder/$name.tar.gz.sha256")"
found="$(digest "$folder/$name.tar.gz")"
[ "$wanted" = "$found" ] || fail "the archive has the digest $found, and $wanted was expected: nothing was installed"

# The digest is from the same address as the archive. The attestation says which workflow built these bytes, of which tag.
identity="https://github.com/$repository/.github/workflows/release.yml@refs/tags/v$version"
unchecked=""
if [ -z "$repository" ]; then
  unchecked="this release is not at GitHub"
elif ! gh attestation --help >/dev/null 2>&1; then
  unchecked="there is no gh with \`gh attestation\`"
else
  code=0
  GH_HOST=github.com gh attestation verify "$folder/$name.tar.gz" --repo "$repository" --cert-identity "$identity" \
    >"$folder/attestation" 2>&1 || code=$?
  case "$code" in
    0) echo "checked: $identity built this archive" ;;
    4) unchecked="gh is not signed in (\`gh auth login\`)" ;;
    *)
      cat "$folder/attestation" >&2
      fail "the attestation of the archive could not be verified as that of $identity, as gh says above: nothing was installed"
      ;;
  esac
fi
if [ -n "$unchecked" ]; then
  echo "only the SHA-256 digest was checked, which is from the same address as the archive: $unchecked"
  [ -z "$repository" ] ||
    echo "to check who built it: gh attestation verify $name.tar.gz --repo $repository --cert-identity $identity"
fi

tar -xzf "$folder/$name.tar.gz" -C "$folder"
mkdir -p "$bin"
# Renamed in place, so that a program that runs is not written over.
cp "$folder/$name/jackfield" "$bin/.jackfield.new"
chmod 755 "$bin/.jackfield.new"
# A program that works is not replaced by one that does not start here.
if [ -z "${JACKFIELD_TARGET:-}" ] && ! "$bin/.jackfield.new" --version >/dev/null; then
  rm -f "$bin/.jackfield.new"
  case "$target" in
    *-gnu) advice="try JACKFIELD_TARGET=${target%gnu}musl, or build it with cargo" ;;
    *) advice="build it with cargo" ;;
  esac
  fail "the program does not start on this machine, and nothing was installed: $advice"
fi
mv "$bin/.jackfield.new" "$bin/jackfield"
echo "installed: $bin/jackfield"

share="${XDG_DATA_HOME:-$HOME/.local/share}"
if [ -z "${JACKFIELD_BIN:-}" ]; then
  mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/fish/vendor_completions.d" "$share/zsh/site-functions"
  cp "$folder/$name"/man/*.1 "$share/man/man1/"
  cp "$folder/$name/completions/jackfield.bash" "$share/bash-completion/completions/jackfield"
  cp "$folder/$name/completions/jackfield.fish" "$share/fish/vendor_completions.d/jackfield.fish"
  cp "$folder/$name/completions/_jackfield" "$share/zsh/site-functions/_jackfield"
  echo "installed: manual pages and completions below $share"
fi
case ":$PATH:" in
  *":$bin:"*) ;;
  *) echo "add $bin to your PATH" ;;
esac
