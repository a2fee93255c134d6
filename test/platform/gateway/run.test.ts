import { once } from 'node:events'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createConnection } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { eventually } from '../../fixtures/eventually.ts'
import { listen } from '../../fixtures/listen.ts'
import { type RunningMx, startMx } from '../../fixtures/mx.ts'
import { RawClient } from '../../fixtures/raw-client.ts'

t.jobs = 2

/** A backend that returns its name; the end of `/<service>/slow` is sent by the test. */
async function startBackend(
  t: Test,
  name: string,
): Promise<{ node: string; slow: () => void; server: Server }> {
  const pending: (() => void)[] = []
  const server = createServer((request, response) => {
    if (request.url?.endsWith('/slow')) {
      response.write(name.slice(0, 1))
      pending.push(() => response.end(name.slice(1)))
    } else response.end(name)
  })
  const port = await listen(t, server)
  return {
    node: `127.0.0.1:${port}`,
    slow: () => {
      for (const end of pending.splice(0)) end()
    },
    server,
  }
}

function start(
  t: Test,
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string> },
): RunningMx {
  const mx = startMx(['api', '--handler=proxy', '--address=127.0.0.1:0', ...args], options)
  t.teardown(async () => {
    if (mx.child.exitCode === null && mx.child.signalCode === null) mx.child.kill('SIGKILL')
    await mx.ended
  })
  return mx
}

/** Ids of the worker processes of a running gateway. */
function listWorkers({ child }: RunningMx): number[] {
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number)
  return children.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('/cli/'))
}

/** Opens a new connection, since `fetch` may reuse an open one. */
async function connect(url: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = createConnection(Number(port), hostname)
  await once(socket, 'connect').finally(() => socket.destroy())
}

async function isRejected(url: string): Promise<boolean> {
  const error = await connect(url).catch((reason: { readonly code: string }) => reason)
  return error?.code === 'ECONNREFUSED'
}

async function text(url: string): Promise<string> {
  return (await fetch(url)).text()
}

for (const listener of ['uws', 'node']) {
  t.test(
    `listener ${listener}: SIGTERM finishes requests in flight, then exits with status 0`,
    async (t) => {
      const backend = await startBackend(t, 'one')
      const mx = start(t, ['--listener', listener, '--backend', `greeter=${backend.node}`], {
        cwd: t.testdir(),
      })
      const url = await mx.url()
      t.equal(await text(`${url}/greeter/hello`), 'one')
      t.equal((await fetch(`${url}/unknown`)).status, 404)
      const running = await fetch(`${url}/greeter/slow`)
      mx.child.kill('SIGTERM')
      await mx.waitUntil(/SIGTERM: draining/)
      // Shortly after the log entry, it accepts no more connections.
      await eventually(() => isRejected(url))
      backend.slow()
      t.equal(await running.text(), 'one')
      t.equal(await mx.ended, 0)
      t.match(mx.log().at(-1), { msg: 'gateway stopped' })
      t.match(
        mx.output.stdout,
        /"path":"\/greeter\/slow".*"status":200/,
        'the access log is complete',
      )
    },
  )
}

t.test(
  'HTTP/1.0 on the default listener: one warning names the cause and the setting',
  async (t) => {
    const mx = start(t, [], { cwd: t.testdir() })
    const port = Number(new URL(await mx.url()).port)
    for (let i = 0; i < 3; i++) {
      const client = new RawClient(port).send('GET /greeter HTTP/1.0\r\nHost: a.test\r\n\r\n')
      t.match((await client.ended()).text, /^HTTP\/1\.1 505 /)
      client.destroy()
    }
    await mx.waitUntil(/HTTP\/1\.0/)
    mx.child.kill('SIGTERM')
    t.equal(await mx.ended, 0)
    const warnings = mx.log().filter(({ hint }) => String(hint).includes('HTTP/1.0'))
    t.match(warnings, [
      { level: 40, listener: 'uws', hint: /505 .*proxy_http_version 1\.1.*set listener to node/ },
    ])
    t.equal(warnings.length, 1)
  },
)

t.test('SIGTERM during startup exits cleanly', async (t) => {
  for (const [flag, pid] of [
    ['--workers=1', 'process.pid'],
    ['--workers=2', 'process.ppid'],
  ] as const) {
    const plugin = `export default () => {
      process.kill(${pid}, 'SIGTERM')
      return { onRequest: (x) => x.reply(200, 'ok') }
    }`
    const cwd = t.testdir({ 'early.js': plugin })
    const mx = start(t, [flag, '--plugin', './early.js'], { cwd })
    t.equal(await mx.ended, 0, flag)
    t.match(mx.output.stderr, /gateway stopped/)
    t.notMatch(mx.output.stderr, /worker exited/)
  }
})

t.test('a second signal exits immediately with status 1', async (t) => {
  const backend = await startBackend(t, 'one')
  const mx = start(t, ['--backend', `greeter=${backend.node}`], { cwd: t.testdir() })
  await fetch(`${await mx.url()}/greeter/slow`)
  mx.child.kill('SIGINT')
  await mx.waitUntil(/SIGINT: draining/)
  // An echo of the first signal does not count as a second one, so the signal is repeated until it counts.
  const repeat = setInterval(() => mx.child.kill('SIGINT'), 50)
  t.equal(await mx.ended, 1)
  clearInterval(repeat)
})

t.test(
  'only a second SIGINT may be an echo, and a SIGTERM after it exits immediately',
  async (t) => {
    const backend = await startBackend(t, 'one')
    const mx = start(t, ['--backend', `greeter=${backend.node}`], { cwd: t.testdir() })
    await fetch(`${await mx.url()}/greeter/slow`)
    mx.child.kill('SIGTERM')
    await mx.waitUntil(/SIGTERM: draining/)
    const loggedMs = performance.now()
    mx.child.kill('SIGTERM')
    t.equal(await mx.ended, 1)
    t.match(mx.output.stderr, /SIGTERM received again: exiting immediately/)
    t.ok(performance.now() - loggedMs < 5000, 'does not wait for the request in flight')
  },
)

t.test('aborts requests that exceed drain_timeout', async (t) => {
  const backend = await startBackend(t, 'one')
  const mx = start(t, ['--drain_timeout=50ms', '--backend', `greeter=${backend.node}`], {
    cwd: t.testdir(),
  })
  const running = await fetch(`${await mx.url()}/greeter/slow`)
  mx.child.kill('SIGTERM')
  await t.rejects(running.text())
  t.equal(await mx.ended, 0)
  t.match(mx.output.stderr, /drain_timeout exceeded/)
})

t.test(
  'loads mx.yaml from the working folder, reloads it on changes, and rejects an invalid one',
  async (t) => {
    const one = await startBackend(t, 'one')
    const two = await startBackend(t, 'two')
    const cwd = t.testdir({ 'mx.yaml': `services:\n  greeter: [${one.node}]\n` })
    const file = join(cwd, 'mx.yaml')
    const mx = start(t, [], { cwd })
    const url = await mx.url()
    t.equal(await text(`${url}/greeter/hello`), 'one')

    writeFileSync(file, `services:\n  greeter: [${two.node}]\nbalanse: random\n`)
    await mx.waitUntil(
      /configuration rejected: mx\.yaml:3:1: unknown key \\"balanse\\", did you mean \\"balance\\"\?/,
    )
    t.equal(await text(`${url}/greeter/hello`), 'one', 'the previous configuration stays in use')

    writeFileSync(file, 'plugins: [cros]\n')
    await mx.waitUntil(/configuration rejected: mx\.yaml:1:11: unknown plugin/)
    t.equal(await text(`${url}/greeter/hello`), 'one', 'services and plugins are unchanged')

    writeFileSync(
      join(cwd, 'next.yaml'),
      `services:\n  greeter: [${two.node}]\nnamespace: acme\nworkers: 2\n`,
    )
    renameSync(join(cwd, 'next.yaml'), file)
    await mx.waitUntil(/configuration reloaded/)
    t.equal(await text(`${url}/greeter/hello`), 'two')
    t.match(await text(`${url}/unknown`), /acme\.unknown/, 'the namespace changes with it')
    t.match(mx.output.stderr, /restart required to apply: workers/)
    const reloaded = mx.log().find(({ msg }) => msg === 'configuration reloaded')
    t.match(reloaded, { servicesAdded: ['acme.greeter'], settings: ['namespace'] })
  },
)

t.test('a removed or emptied configuration file does not remove the services', async (t) => {
  const one = await startBackend(t, 'one')
  const cwd = t.testdir({ 'mx.yaml': `services:\n  greeter: [${one.node}]\n` })
  const file = join(cwd, 'mx.yaml')
  const mx = start(t, [], { cwd })
  const url = await mx.url()
  renameSync(file, join(cwd, 'unavailable'))
  await mx.waitUntil(
    /configuration rejected: cannot read configuration file mx\.yaml: it does not exist/,
  )
  t.equal(await text(`${url}/greeter`), 'one')
  writeFileSync(file, '')
  await mx.waitUntil(/configuration rejected: mx\.yaml:1:1: the file contains no setting/)
  t.equal(await text(`${url}/greeter`), 'one')
})

t.test('SIGHUP reloads the configuration', async (t) => {
  const one = await startBackend(t, 'one')
  const cwd = t.testdir()
  const mx = start(t, [], { cwd, env: { MX_BALANCEE: 'random' } })
  const url = await mx.url()
  await mx.waitUntil(/no service is configured: add one with --backend/)
  t.match(mx.output.stderr, /unknown variable MX_BALANCEE, did you mean MX_BALANCE\?/)
  t.equal((await fetch(`${url}/greeter`)).status, 404)
  writeFileSync(join(cwd, 'mx.yaml'), `services:\n  greeter: ${one.node}\n`)
  mx.child.kill('SIGHUP')
  await mx.waitUntil(/configuration reloaded/)
  t.equal(await text(`${url}/greeter`), 'one')
})

t.test('reloads a plugin when its file changes', async (t) => {
  const plugin = (reply: string): string =>
    `export default { onRequest: (x) => x.reply(200, '${reply}') }\n`
  const cwd = t.testdir({ 'mine.ts': plugin('first') })
  const mx = start(t, ['--plugin', './mine.ts'], { cwd })
  const url = await mx.url()
  t.equal(await text(url), 'first')
  writeFileSync(join(cwd, 'mine.ts'), plugin('second'))
  await mx.waitUntil(/configuration reloaded/)
  t.equal(await text(url), 'second')
})

t.test('workers share the port, are restarted after a crash, and drain together', async (t) => {
  const backend = await startBackend(t, 'one')
  const mx = start(t, ['--workers=2', '--backend', `greeter=${backend.node}`], { cwd: t.testdir() })
  const url = await mx.url()
  const workers = listWorkers(mx)
  t.equal(workers.length, 2)
  t.equal(await text(`${url}/greeter`), 'one')

  for (const workersFlag of ['--workers=2', '--workers=1']) {
    const args = ['api', `--address=${new URL(url).host}`, workersFlag]
    const second = startMx(args, { cwd: t.testdir() })
    t.equal(await second.ended, 1, `a second gateway with ${workersFlag} cannot share the port`)
    t.match(
      second.output.stderr,
      /^mx: address 127\.0\.0\.1:\d+ is in use by another program; choose another with --address or MX_ADDRESS\n$/,
    )
  }

  process.kill(workers[0]!, 'SIGKILL')
  await mx.waitUntil(/worker exited; restarting/)
  t.equal(await text(`${url}/greeter`), 'one', 'the first gateway continues to serve')
  while (listWorkers(mx).length < 2) await text(`${url}/greeter`)

  const running = await fetch(`${url}/greeter/slow`)
  mx.child.kill('SIGTERM')
  await mx.waitUntil(/SIGTERM: draining/)
  backend.slow()
  t.equal(await running.text(), 'one')
  t.equal(await mx.ended, 0)
})

t.test('SIGUSR2 replaces the workers with new ones, which reload all files', async (t) => {
  const backend = await startBackend(t, 'one')
  const cwd = t.testdir({ 'mx.yaml': `services:\n  greeter: [${backend.node}]\n` })
  const mx = start(t, ['--hot_restart', '--config=mx.yaml'], { cwd })
  const url = await mx.url()
  const [before] = listWorkers(mx)

  writeFileSync(join(cwd, 'mx.yaml'), 'listener: none\n')
  await mx.waitUntil(/configuration rejected/)
  mx.child.kill('SIGUSR2')
  await mx.waitUntil(
    /"reason":"a worker process exited.*hot restart failed; the old workers remain in service/s,
  )
  t.same(listWorkers(mx), [before])
  t.equal(await text(`${url}/greeter`), 'one')

  const running = await fetch(`${url}/greeter/slow`)
  writeFileSync(join(cwd, 'mx.yaml'), `services:\n  next: [${backend.node}]\nlistener: uws\n`)
  mx.child.kill('SIGUSR2')
  await mx.waitUntil(/new workers are serving; old workers finish their requests/)
  t.equal((await fetch(`${url}/greeter`)).status, 404)
  t.equal(await text(`${url}/next`), 'one')
  t.ok(listWorkers(mx).includes(before!), 'a request is still in flight')
  backend.slow()
  t.equal(await running.text(), 'one')
  while (listWorkers(mx).includes(before!)) await text(`${url}/next`)
  t.equal(listWorkers(mx).length, 1)
  t.notMatch(mx.output.stderr, /worker exited/)
  mx.child.kill('SIGTERM')
  t.equal(await mx.ended, 0)
})

t.test('a worker crash during a hot restart does not change the number of workers', async (t) => {
  const backend = await startBackend(t, 'one')
  const args = ['--workers=2', '--backend', `greeter=${backend.node}`]
  const mx = start(t, args, { cwd: t.testdir() })
  const url = await mx.url()
  const before = listWorkers(mx)
  mx.child.kill('SIGUSR2')
  await mx.waitUntil(/SIGUSR2: starting new workers/)
  process.kill(before[0]!, 'SIGKILL')
  await mx.waitUntil(/worker exited; restarting/)
  await mx.waitUntil(/new workers are serving; old workers finish their requests/)
  await eventually(async () => listWorkers(mx).length === 2)
  t.notOk(listWorkers(mx).some((pid) => before.includes(pid)))
  t.equal(await text(`${url}/greeter`), 'one')
  mx.child.kill('SIGTERM')
  t.equal(await mx.ended, 0)
})

t.test('SIGUSR2 does not end a gateway without hot restart', async (t) => {
  const mx = start(t, [], { cwd: t.testdir() })
  const url = await mx.url()
  mx.child.kill('SIGUSR2')
  await mx.waitUntil(/hot restart not available; .*--hot_restart/)
  t.equal((await fetch(url)).status, 200)
})

t.test('writes process warnings only to the log, even during startup', async (t) => {
  const warns =
    "process.emitWarning('mind the step')\nexport default { onDone() { process.emitWarning('again') } }\n"
  const cwd = t.testdir({ 'warns.ts': warns })
  const mx = start(t, ['--plugin', './warns.ts'], { cwd })
  await fetch(`${await mx.url()}/unknown`)
  await mx.waitUntil(/"msg":"again"/)
  for (const msg of ['mind the step', 'again'])
    t.equal(mx.log().filter((line) => line['msg'] === msg).length, 1, msg)
  t.notMatch(mx.output.stderr, /^\(/m)
})

t.test('reports an invalid plugin before a port in use', async (t) => {
  const { server } = await startBackend(t, 'one')
  const { port } = server.address() as AddressInfo
  const args = ['api', '--plugin', 'nope', '--address', `127.0.0.1:${port}`]
  const mx = startMx(args, { cwd: t.testdir() })
  t.equal(await mx.ended, 2)
  t.match(
    mx.output.stderr,
    /^mx: --plugin: unknown plugin "nope": .* To load a file, use \.\/nope\n$/,
  )
})

t.test('reports a failed worker start once and leaves no process running', async (t) => {
  const cwd = t.testdir({ 'broken.js': 'export default {' })
  const mx = start(t, ['--workers=2', '--plugin', './broken.js'], { cwd })
  t.equal(await mx.ended, 2)
  t.match(mx.output.stderr, /^mx: --plugin: plugin .*broken\.js.*\n$/)
})
