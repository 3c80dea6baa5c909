#!/bin/sh
# Compares version_compare() with Maven's own ComparableVersion on random pairs.
#   tests/oracle/maven.sh [SEED] [PAIRS]
# VERSION_PAIRS is the generator (make builds it), MAVEN_ARTIFACT_JAR the library to ask.
# Exit 0 only if every pair was answered and none differs.
set -eu

seed=${1:-1}
pairs=${2:-100000}
here=$(dirname "$0")
program=${VERSION_PAIRS:-build/release/oracle/version_pairs}
jar=${MAVEN_ARTIFACT_JAR:-/usr/share/java/maven3-artifact.jar}

[ -x "$program" ] || { echo "maven.sh: no $program: build it first" >&2; exit 2; }
[ -r "$jar" ] || { echo "maven.sh: no $jar: libmaven3-core-java is missing" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

javac -d "$work" -cp "$jar" "$here/Compare.java"

# A pipeline keeps only the last status: the checker fails on answers that are missing, and so does
# this where java or the generator broke after the last of them.
{ "$program" generate "$seed" "$pairs" || touch "$work/failed"; } |
	{ java -Xshare:auto -XX:+UseSerialGC -cp "$work:$jar" Compare || touch "$work/failed"; } |
	"$program" check "$seed" "$pairs"
[ ! -e "$work/failed" ] || { echo "maven.sh: the comparison broke off" >&2; exit 1; }
