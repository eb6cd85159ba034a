// Starts `warpgrind dap`, which speaks the debug adapter protocol over standard input and output.
const vscode = require("vscode");

/** The adapter's process, as the settings name it. */
const adapters = {
  createDebugAdapterDescriptor(session) {
    const settings = vscode.workspace.getConfiguration("warpgrind", session.workspaceFolder);
    return new vscode.DebugAdapterExecutable(settings.get("path") || "warpgrind", ["dap"]);
  },
};

exports.activate = (context) => {
  context.subscriptions.push(vscode.debug.registerDebugAdapterDescriptorFactory("warpgrind", adapters));
};
