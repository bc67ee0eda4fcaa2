// node tests/pyodide.mjs FOLDER COURSE [PACKAGE ...] < CODE
// Run Python code in the Pyodide of FOLDER, with the course's folder at /course and packages from FOLDER.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , folder, course, ...packages] = process.argv;
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`).href);
const pyodide = await loadPyodide({ indexURL: `${folder}/` });
pyodide.mountNodeFS("/course", course);
await pyodide.loadPackage(packages, { messageCallback: () => {} });
await pyodide.runPythonAsync(readFileSync(0, "utf8"));
