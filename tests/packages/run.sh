#!/usr/bin/env bash
# run.sh BUILD: makes the Debian packages of what is built there and looks at what is in them; what a checker of Debian's says of them where it
# is installed. With LOOPSCOPE_BARE_ROOT=1 they are installed in a bare Debian 12, run and removed there: that takes root, a network and minutes.
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
inside 'apt-get update -qq'
install() { inside "apt-get install -qq -y --no-install-recommends $* >/tmp/said 2>&1 || { cat /tmp/said; exit 1; }"; }

# All but the ranks of MPI, which bring Open MPI with them: nobody else shall have to.
# shellcheck disable=SC2046
install $(cd "$folder/packages" && printf '/tmp/%s\n' *.deb | grep -v loopscope-mpi)
inside '! dpkg-query -W "libopenmpi*" 2>/dev/null | grep .' || fail "MPI comes with the program"
inside "set -e; cd /tmp; loopscope run /$sample -i x=27 >/dev/null; loopscope trace /$sample -i x=27 -o t.lstrace >/dev/null
    loopscope report t.lstrace -o t.html >/dev/null; loopscope convert /$sample -o collatz.tflite >/dev/null
    loopscope run collatz.tflite -i x=27 | grep -q 111" || fail "the program does not work"
if [ -f usr/bin/loopscope-gui ]; then
    install xvfb xauth x11-utils
    for model in "/$sample" /tmp/collatz.tflite; do
        inside "xvfb-run -a sh -c 'loopscope gui $model -i x=27 & window=\$!; found=1
            for second in \$(seq 60); do sleep 1; xwininfo -root -tree | grep -q \"$(basename "$model")\" && { found=0; break; }; done
            kill -0 \$window && kill \$window && exit \$found'" || fail "the window did not open $model"
        inside "QT_QPA_PLATFORM=offscreen loopscope gui $model -i x=27 --screenshot /tmp/window.png >/dev/null" || fail "no picture of $model"
    done
fi
if [ -d usr/lib/python3 ]; then
    inside "python3 -c \"import loopscope, numpy; out = loopscope.load('/tmp/collatz.tflite').run({'x': 27}); assert 111 in [int(v) for v in out.values()], out\"" ||
        fail "the Python module does not run a model"
fi
if [ -d usr/lib/loopscope/modules ]; then
    parts="loopscope run /usr/share/loopscope/samples/text/v1_collatz.lsir -i n=27 --fetch count --place half=b --place triple=b --distributed"
    inside "OMPI_COMM_WORLD_SIZE=2 $parts 2>&1 | grep -q 'install the package loopscope-mpi'" || fail "nothing says which package is missing"
    install '/tmp/loopscope-mpi_*.deb'
    inside "mpirun --allow-run-as-root --oversubscribe -n 2 $parts | grep -q 'steps on 2 ranks'" || fail "two ranks do not run"
fi
names=$(for package in "${packages[@]}"; do dpkg-deb -f "$package" Package; done | tr '\n' ' ') # apt refuses all where it does not know one
inside "apt-get purge -qq -y $names >/dev/null 2>&1; ! command -v loopscope && [ -z \"\$(find / -xdev -iname '*loopscope*' -not -path '/tmp/*' -not -path '/var/log/*' -not -path '/var/cache/*' | tee /dev/stderr)\" ]" ||
    fail "something stays when it is removed"
echo "installed, run and removed in a bare root: ${packages[*]##*/}"
