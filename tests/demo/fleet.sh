# Common to all demonstrations: a ZooKeeper on loopback, sidecars as on hosts of their own, and their end.
# To be sourced with the folder of the programs as $1; it makes $dir, which is removed at the end.
# shellcheck shell=bash
build=$(cd "${1:?usage: demo BUILD_FOLDER}" && pwd)
dir=$(mktemp -d /tmp/zkleader-demo.XXXXXX)
pids=()
declare -A pid_of # of the sidecar with that name, for who sources this

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$(printf '\033[1m') cyan=$(printf '\033[36m') plain=$(printf '\033[0m')
else
	bold='' cyan='' plain=''
fi
width=500
if [ -t 1 ]; then width=$(tput cols 2>/dev/null || echo 80); fi

finish() {
	trap - EXIT INT TERM
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

wrapped() { fold -s -w "$width"; } # between words, as a terminal would not
say() { printf '\n%s%s%s\n' "$bold" "$(wrapped <<<"== $*")" "$plain"; }
prompt() {
	local word line=''
	for word in "$@"; do
		case $word in
		*' '*) line+=" \"$word\"" ;;
		*) line+=" $word" ;;
		esac
	done
	printf '%s$%s%s\n' "$cyan" "$line" "$plain"
}
show() {
	prompt "$@"
	"$@" || printf '(exit %d)\n' "$?"
}

# free_port [FIRST]: the first of 200 that nobody listens on
free_port() {
	local port first=${1:-22181}
	for port in $(seq "$first" $((first + 199))); do
		if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
			echo "$port"
			return
		fi
	done
	echo "no free port between $first and $((first + 199))" >&2
	exit 1
}

# until SECONDS COMMAND...: polls until it succeeds
until_ok() {
	local tries=$(($1 * 20))
	shift
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		if [ "$tries" -le 0 ]; then
			echo "gave up waiting for: $*" >&2
			tail -n 5 "$dir"/*.log "$dir"/*.out >&2
			exit 1
		fi
		sleep 0.05
	done
}

zookeeper() {
	cat >"$dir/zoo.cfg" <<-EOF
		tickTime=200
		dataDir=$dir/data
		clientPort=$port
		clientPortAddress=127.0.0.1
		admin.enableServer=false
		4lw.commands.whitelist=srvr
	EOF
	java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dzookeeper.forceSync=no \
		-cp /etc/zookeeper/conf:/usr/share/java/zookeeper.jar \
		org.apache.zookeeper.server.quorum.QuorumPeerMain "$dir/zoo.cfg" >"$dir/zookeeper.log" 2>&1 &
	pids+=($!)
}

# A server that is just starting may take a connection and never answer on it.
serves() {
	exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
	printf srvr >&3
	timeout 1 grep -q Mode <&3
}

# sidecar NAME VERSION: starts one, as on a host of its own
sidecar() {
	cat >"$dir/$1.conf" <<-EOF
		zookeeper = "127.0.0.1:$port"
		session-timeout = "3s"
		node = "$1"
		version = "$2"
		address = "10.0.0.${1#host}"
		socket = "$dir/$1.sock"
		yield-delay = "500ms"
		tick-guard = "0s"
	EOF
	# With a hostname of its own as well, where the kernel lets us have one: records have that.
	if unshare --uts true 2>/dev/null; then
		# shellcheck disable=SC2016  # the inner shell expands them
		unshare --uts sh -c 'hostname "$1" && exec "$2" -c "$3"' - "$1" "$build/zkleaderd" \
			"$dir/$1.conf" >"$dir/$1.log" 2>&1 &
	else
		"$build/zkleaderd" -c "$dir/$1.conf" >"$dir/$1.log" 2>&1 &
	fi
	pids+=($!)
	# shellcheck disable=SC2034  # for who sources this
	pid_of[$1]=$!
	until_ok 60 healthy "$1"
}

healthy() { "$build/zkleader" -s "$dir/$1.sock" status; }
member_count() { [ "$("$build/zkleader" -s "$dir/$1.sock" --json list | grep -c '"hostname"')" = "$2" ]; }

# page NAME PORT: the status page of a sidecar that runs
page() {
	"$build/zkleader-web" -s "$dir/$1.sock" -l "127.0.0.1:$2" >>"$dir/$1.web.log" 2>&1 &
	pids+=($!)
	until_ok 60 listens "$2"
}
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
