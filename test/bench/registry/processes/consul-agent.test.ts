import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { waitUntil } from '../../../contracts/registry.ts'
import { toNodeArgs } from '../../../fixtures/programs.ts'
import { skipUnless } from '../../../fixtures/servers.ts'

t.setTimeout(120_000)

/** Whether a program listens on a port. */
async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const open = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  })
  socket.destroy()
  return open
}

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  t.test(`ends an agent with the process that started it, by ${signal}`, async (t) => {
    const program = skipUnless(t, 'consul')
    if (program === undefined) return
    const script = new URL('../../../fixtures/agent-process.ts', import.meta.url)
    const child = spawn(process.execPath, toNodeArgs(script, program), {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.teardown(() => child.kill('SIGKILL'))
    const [line] = (await once(child.stdout!, 'data')) as [Buffer]
    const port = Number(line)
    t.ok(await isOpen(port))
    child.kill(signal)
    await once(child, 'exit')
    await waitUntil(async () => !(await isOpen(port)))
  })
}
