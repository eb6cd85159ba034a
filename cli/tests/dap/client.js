// A session with @vscode/debugadapter-testsupport, the client that Visual Studio Code's own adapters are tested with.
"use strict";

const assert = require("node:assert");
const { DebugClient } = require("@vscode/debugadapter-testsupport");

const [, , warpgrind] = process.argv;
const client = new DebugClient(warpgrind, "dap", "warpgrind");
const source = { path: "/somewhere/testdata/debugger/gemm_overrun.cu" };

async function session() {
  await client.start();
  const { body: can } = await client.initializeRequest();
  for (const name of ["supportsStepBack", "supportsDataBreakpoints", "supportsSetVariable", "supportsLogPoints"]) {
    assert(can[name], name);
  }
  const ready = client.waitForEvent("initialized");
  await client.launchRequest({ files: ["cli/tests/data/debug/gemm_overrun.toml"] });
  await ready;
  const lines = await client.customRequest("breakpointLocations", { source, line: 10, endLine: 14 });
  assert.deepStrictEqual(lines.body.breakpoints.map((one) => one.line), [11, 12, 13]);
  const set = await client.setBreakpointsRequest({
    source,
    breakpoints: [
      { line: 21, condition: "threadIdx.x == 3" },
      { line: 25, logMessage: "row {%r4} of {gridDim.y * blockDim.y}" },
    ],
  });
  assert(set.body.breakpoints.every((one) => one.verified));

  // Up to the breakpoint, and what is there.
  const [, at] = await Promise.all([
    client.configurationDoneRequest(),
    client.assertStoppedLocation("breakpoint", { path: /testdata\/debugger\/gemm_overrun\.cu$/, line: 21 }),
  ]);
  const [frame] = at.body.stackFrames;
  const scopes = await client.scopesRequest({ frameId: frame.id });
  const reference = (name) => scopes.body.scopes.find((scope) => scope.name === name).variablesReference;
  const of = async (variablesReference) => {
    const { body } = await client.variablesRequest({ variablesReference });
    return Object.fromEntries(body.variables.map((one) => [one.name, one]));
  };
  assert.strictEqual((await of(reference("Special")))["threadIdx.x"].value, "3");
  const buffers = await of(reference("Buffers"));
  const targets = await client.customRequest("completions", { frameId: frame.id, text: "1 + thr", column: 8 });
  assert.deepStrictEqual(targets.body.targets, [{ label: "threadIdx", start: 4, length: 3 }]);

  // A value is changed, in another future; going back takes it back.
  const changed = await client.setVariableRequest({
    variablesReference: buffers.A.variablesReference,
    name: "[1]",
    value: "40 + 2",
  });
  assert.strictEqual(changed.body.value, "42");
  const value = async (expression) => {
    const { body } = await client.evaluateRequest({ expression, frameId: frame.id });
    return body.result;
  };
  assert.strictEqual(await value("A[1]"), "42");
  const memory = { memoryReference: buffers.A.memoryReference, data: "AACAPwAAQEA=" };
  assert.strictEqual((await client.customRequest("writeMemory", memory)).body.bytesWritten, 8);
  assert.strictEqual(await value("A[1]"), "3");
  await Promise.all([client.stepBackRequest({ threadId: 1 }), client.waitForEvent("stopped")]);

  // A log point says something and goes on, up to the finding.
  await client.setBreakpointsRequest({ source, breakpoints: [{ line: 25, logMessage: "row {%r4}" }] });
  await client.setExceptionBreakpointsRequest({ filters: ["findings"] });
  const said = client.waitForEvent("output");
  const [, stopped] = await Promise.all([
    client.continueRequest({ threadId: 1 }),
    client.waitForEvent("stopped"),
  ]);
  assert.strictEqual((await said).body.output, "row 0\n");
  assert.strictEqual(stopped.body.reason, "exception");
  assert.match(stopped.body.text, /buffer `C`/);
  const info = await client.customRequest("exceptionInfo", { threadId: stopped.body.threadId });
  assert.strictEqual(info.body.exceptionId, "out-of-bounds");

  // From the beginning again.
  const [, again] = await Promise.all([client.customRequest("restart", {}), client.waitForEvent("stopped")]);
  assert.strictEqual(again.body.reason, "exception");
  await client.setExceptionBreakpointsRequest({ filters: [] });
  await Promise.all([client.continueRequest({ threadId: 1 }), client.waitForEvent("terminated")]);
}

session().then(
  () => console.log("the session is as it should be"),
  (error) => {
    console.error(error);
    process.exitCode = 1;
  },
).finally(() => client.stop());
