#!/bin/sh
# Do the judges deserve their say? Agreement, and what besides the argument moves a score, on the arguments of your own debates.
set -e
cd "$(mktemp -d)"

maci debate dengue --panel readers --out debates/dengue --quiet > answers.txt
maci debate paper-hepatitis --panel readers --out debates/hepatitis --quiet >> answers.txt
maci audit judges --arguments debates --n 12 --out audit | sed '/^$/q'      # the verdict; the tables follow
