// Ruff, by its build for node: ruff.js SETTINGS FILE..., SETTINGS as JSON. Prints what it finds; 1: something.
const { PositionEncoding, Workspace } = require("@astral-sh/ruff-wasm-nodejs");
const { readFileSync } = require("node:fs");

const [settings, ...files] = process.argv.slice(2);
const workspace = new Workspace(JSON.parse(settings), PositionEncoding.Utf32);
for (const file of files) {
	for (const found of workspace.check(readFileSync(file, "utf8"))) {
		console.log(`${file}:${found.start_location.row}: ${found.code} ${found.message}`);
		process.exitCode = 1;
	}
}
