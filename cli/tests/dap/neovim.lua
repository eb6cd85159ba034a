-- A session of Neovim with nvim-dap: breakpoints of a buffer, steps forward and back, a finding, values.
-- nvim --headless -u NONE --cmd 'set runtimepath^=NVIM-DAP' -c 'luafile cli/tests/dap/neovim.lua'

local dap = require("dap")
local stops, session, ended = {}, nil, false

dap.adapters.warpgrind = { type = "executable", command = os.getenv("WARPGRIND"), args = { "dap" } }
dap.listeners.after.event_stopped["test"] = function(of, body)
  session = of
  stops[#stops + 1] = body
end
dap.listeners.after.event_terminated["test"] = function()
  ended = true
end

local function wait(what, holds)
  assert(vim.wait(30000, holds, 20), "waited in vain for " .. what)
end

-- The next stop: its reason, and the line where the editor stands.
local function stop(act)
  local before = #stops
  act()
  wait("a stop", function()
    local frame = session and session.current_frame
    return #stops > before and frame and frame.line == vim.api.nvim_win_get_cursor(0)[1]
  end)
  vim.wait(200)
  return stops[#stops].reason, vim.api.nvim_win_get_cursor(0)[1]
end

local function evaluate(expression)
  local answer
  session:request("evaluate", { expression = expression, frameId = session.current_frame.id }, function(wrong, body)
    answer = wrong and wrong.message or body.result
  end)
  wait("a value", function() return answer ~= nil end)
  return answer
end

local function same(got, wanted)
  assert(got == wanted, vim.inspect(got) .. " is not " .. vim.inspect(wanted))
end

local function test()
  vim.cmd("edit testdata/debugger/gemm_overrun.cu")
  vim.api.nvim_win_set_cursor(0, { 21, 0 })
  dap.set_breakpoint("threadIdx.x == 3")
  local reason, line = stop(function()
    dap.run({
      type = "warpgrind", request = "launch", name = "test", files = { "cli/tests/data/debug/gemm_overrun.toml" },
    })
  end)
  same(reason, "breakpoint")
  same(line, 21)
  same(evaluate("threadIdx.x"), "3")
  same(evaluate("A[1] + 0.5"), "3.5")
  dap.clear_breakpoints()
  reason, line = stop(dap.step_over)
  same(reason, "step")
  assert(line ~= 21)
  reason, line = stop(dap.step_back)
  same(reason, "step")
  same(line, 21)
  reason, line = stop(dap.continue)
  same(reason, "exception")
  same(line, 26)
  same(evaluate("%r46"), "384")
  reason, line = stop(dap.reverse_continue)
  same(line, 6)
  dap.terminate()
  wait("the end", function() return ended end)
end

local fine, message = pcall(test)
io.stderr:write(fine and "the session is as it should be\n" or (tostring(message) .. "\n"))
vim.cmd(fine and "qa!" or "cquit 1")
