#!/usr/bin/env bash
# run.sh BUILD: makes the Debian packages and looks at what is in them; what a checker of Debian's says of them where it is installed. With
# LOOPSCOPE_BARE_ROOT=1 they are installed in a bare Debian 12, run and removed there: that takes root, a network and minutes.
set -euo pipefail
build=$(realpath "$1")
sources=$(realpath "$(dirname "$0")/../..")
skip() { echo "skipped: $1"; exit 77; }
for tool in cpack dpkg-deb dpkg-shlibdeps; do command -v $tool >/dev/null || skip "no $tool"; done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "error: $1" >&2; exit 1; }

(cd "$build" && cpack -B "$folder/packages" >"$folder/log" 2>&1) || { cat "$folder/log"; fail "cpack"; }
packages=("$folder"/packages/*.deb)
for package in "${packages[@]}"; do dpkg-deb -x "$package" "$folder/tree"; done
cd "$folder/tree"

for file in usr/bin/loopscope usr/share/man/man1/loopscope.1.gz usr/share/man/man1/loopscope-trace.1.gz usr/share/doc/loopscope/copyright \
    usr/share/bash-completion/completions/loopscope usr/share/zsh/vendor-completions/_loopscope usr/share/fish/vendor_completions.d/loopscope.fish; do
    [ -f $file ] || fail "$file is missing"
done
if [ -f usr/bin/loopscope-gui ]; then
    for file in usr/share/applications/loopscope.desktop usr/share/mime/packages/loopscope.xml usr/share/thumbnailers/loopscope.thumbnailer \
        usr/share/metainfo/loopscope.metainfo.xml usr/share/icons/hicolor/scalable/apps/loopscope.svg usr/share/man/man1/loopscope-gui.1.gz; do
        [ -f $file ] || fail "$file is missing"
    done
fi

# The program runs from where it lies, and draws what a file manager asks for.
sample=usr/share/loopscope/samples/text/collatz.lsir
usr/bin/loopscope run $sample -i x=27 | grep -q 'steps  *i32\[\] = 111' || fail "the program does not run"
draw=$(sed -n 's/^Exec=//p' "$sources/app/packages/loopscope.thumbnailer" | sed "s|^loopscope|usr/bin/loopscope|; s|%i|$sample|; s|%o|$folder/icon.png|")
$draw >/dev/null || fail "no thumbnail"
[ "$(head -c 8 "$folder/icon.png" | tail -c 3 | tr -d '\r\n\032')" = "" ] && [ "$(head -c 4 "$folder/icon.png" | tail -c 3)" = PNG ] || fail "the thumbnail is no picture"

# What each shell and each checker of Debian's says, where there is one.
bash -n usr/share/bash-completion/completions/loopscope
words=$(bash -c 'source usr/share/bash-completion/completions/loopscope; COMP_WORDS=(loopscope re); COMP_CWORD=1; _loopscope; echo ${COMPREPLY[@]}')
[ "$words" = report ] || fail "bash completes 're' as '$words'"
if command -v zsh >/dev/null; then zsh -n usr/share/zsh/vendor-completions/_loopscope; fi
if command -v fish >/dev/null; then fish -n usr/share/fish/vendor_completions.d/loopscope.fish; fi
if command -v man >/dev/null; then
    for page in usr/share/man/man1/*.gz; do
        warnings=$(LC_ALL=C.UTF-8 MANROFFSEQ= MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
        [ -z "$warnings" ] || fail "$page: $warnings"
    done
fi
if [ -d usr/share/applications ]; then
    if command -v desktop-file-validate >/dev/null; then desktop-file-validate usr/share/applications/loopscope.desktop; fi
    if command -v appstreamcli >/dev/null; then appstreamcli validate --no-net usr/share/metainfo/loopscope.metainfo.xml; fi
    if command -v update-mime-database >/dev/null; then
        update-mime-database usr/share/mime
        grep -q 'application/x-tflite' usr/share/mime/globs2 || fail "the type of .tflite is not known"
    fi
fi
if command -v lintian >/dev/null; then
    said=$(lintian --allow-root --fail-on error,warning "${packages[@]}" 2>&1) || fail "$said"
else
    echo "no lintian here"
fi
[ -n "${LOOPSCOPE_BARE_ROOT:-}" ] || { echo "made and looked at: ${packages[*]##*/}"; exit 0; }

command -v mmdebstrap >/dev/null || skip "no mmdebstrap for a bare root"
root=$folder/root
mmdebstrap --quiet --variant=apt bookworm "$root"
cp "${packages[@]}" "$root/tmp/"
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c "$1"; }
mount -t proc proc "$root/proc"
trap 'umount "$root/proc"; rm -rf "$folder"' EXIT
cp /etc/resolv.conf "$root/etc/"
inside 'apt-get update -qq && apt-get install -qq -y --no-install-recommends /tmp/*.deb >/tmp/said 2>&1 || { cat /tmp/said; exit 1; }'
inside "loopscope run /$sample -i x=27 && loopscope trace /$sample -i x=27 -o /tmp/t.lstrace && loopscope report /tmp/t.lstrace -o /tmp/t.html"
if [ -f usr/bin/loopscope-gui ]; then
    inside 'apt-get install -qq -y --no-install-recommends xvfb xauth x11-utils >/dev/null 2>&1'
    inside "xvfb-run -a sh -c 'loopscope gui /$sample -i x=27 & window=\$!; found=1
        for second in \$(seq 30); do sleep 1; xwininfo -root -tree | grep -i collatz && { found=0; break; }; done
        kill -0 \$window && kill \$window && exit \$found'" || fail "the window did not open the model"
fi
if [ -d usr/lib/python3 ]; then inside 'python3 -c "import loopscope; print(loopscope.__name__)"'; fi
names=$(for package in "${packages[@]}"; do dpkg-deb -f "$package" Package; done | tr '\n' ' ') # apt refuses all where it does not know one
inside "apt-get purge -qq -y $names >/dev/null 2>&1; ! command -v loopscope && [ ! -e /usr/share/loopscope ] && [ ! -e /usr/lib/python3/dist-packages/loopscope ]" ||
    fail "something stays when it is removed"
echo "installed, run and removed in a bare root: ${packages[*]##*/}"
