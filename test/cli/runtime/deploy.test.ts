import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { openCli } from '../../fixtures/cli.ts'
import { runMx, startMx } from '../../fixtures/mx.ts'

const { runtime, home } = await openCli(t)
const env = { HOME: home, MX_ENV_LOCAL_ADDRESS: process.env['MX_ENV_LOCAL_ADDRESS']! }
const options = { cwd: home, env }

t.test('mx run -o json prints the running object as JSON', async (t) => {
  const { code, stdout } = await runMx(['run', 'github.com/jane/mail', '-o', 'json'], options)
  t.equal(code, 0)
  t.match(JSON.parse(stdout), {
    ...{ name: 'mail', version: 'latest', status: 'running', seconds: Number },
  })
})

t.test('an unknown output format is rejected before any request', async (t) => {
  runtime.calls.length = 0
  const args = ['run', 'github.com/jane/other', '-o', 'jsno']
  t.match(await runMx(args, options), { code: 2, stderr: /did you mean json\?/ })
  t.same(runtime.calls, [])
})

t.test('Ctrl-C reports that the deployment continues, and exits 130', async (t) => {
  runtime.states = [{ status: 2 }]
  runtime.hangs = true
  const { child, ended, output } = startMx(['run', 'github.com/jane/slow'], options)
  const isRequested = (): boolean =>
    runtime.calls.some(({ endpoint }) => endpoint === 'Runtime.Create')
  while (!isRequested()) await wait(20)
  child.kill('SIGINT')
  t.equal(await ended, 130)
  t.equal(output.stderr, "mx: canceled: the deployment of slow continues, see 'mx status slow'\n")
})
