// The admin server of an `mx` process from start to end.
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { listenHttp } from '../../fixtures/listen.ts'
import { type RunningMx, startMx } from '../../fixtures/mx.ts'
import { findScraped, parseScrape } from '../../fixtures/prometheus.ts'
import { launchServer } from '../../fixtures/server-process.ts'

async function startBackend(t: Test): Promise<string> {
  return `127.0.0.1:${await listenHttp(t, (_request, response) => response.end('hello'))}`
}

function start(t: Test, args: readonly string[]): RunningMx {
  const standard = ['--handler=proxy', '--address=127.0.0.1:0', '--admin_address=127.0.0.1:0']
  const mx = startMx(['api', ...standard, ...args], { cwd: t.testdir() })
  t.teardown(async () => {
    if (mx.child.exitCode === null && mx.child.signalCode === null) mx.child.kill('SIGKILL')
    await mx.ended
  })
  return mx
}

/** The field `name` of the startup log entry. */
async function readBanner({ waitUntil, log }: RunningMx, name: string): Promise<string> {
  await waitUntil(/(gateway|server) ready"/)
  return String(log().find(({ msg }) => /ready$/.test(String(msg)))?.[name])
}

async function status(url: string): Promise<number> {
  const answer = await fetch(url, { headers: { connection: 'close' } })
  await answer.arrayBuffer()
  return answer.status
}

/** Value of the request counter, for one service or without a service. */
async function countRequests(admin: string, service: string | undefined): Promise<number> {
  const answer = await fetch(`${admin}/metrics`, {
    headers: { accept: 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5' },
  })
  const scraped = parseScrape(await answer.text())
  const serviceSeries = scraped.filter(({ labels }) => labels['service'] === service)
  return findScraped(serviceSeries, 'http_server_request_duration_seconds_count') ?? 0
}

for (const workers of [1, 2]) {
  t.test(`${workers} process(es): SIGTERM makes the gateway unready, then drains it`, async (t) => {
    const node = await startBackend(t)
    const args = ['--drain_delay=1s', `--workers=${workers}`, `--backend=greeter=${node}`]
    const mx = start(t, args)
    const [gateway, admin] = [await mx.url(), await readBanner(mx, 'admin')]
    t.equal(await status(`${admin}/readyz`), 200)
    for (const path of ['/readyz', '/livez', '/metrics'])
      t.equal(await status(gateway + path), 404, 'not served on the public port')
    // Separate connections, which are distributed to the workers.
    await Promise.all(Array.from({ length: 20 }, () => status(`${gateway}/greeter`)))
    t.equal(await countRequests(admin, 'go.mx.api.greeter'), 20, 'the total of all processes')
    t.equal(await countRequests(admin, undefined), 3)
    const requestedMs = performance.now()
    mx.child.kill('SIGTERM')
    await mx.waitUntil(/not ready, accepting requests for another 1s/)
    t.equal(await status(`${admin}/readyz`), 503)
    t.equal(await status(`${admin}/livez`), 200)
    t.equal(await status(`${gateway}/greeter`), 200, 'the port is open')
    await mx.waitUntil(/SIGTERM: draining/)
    t.ok(performance.now() - requestedMs >= 950)
    t.equal(await mx.ended, 0)
  })
}

t.test('an unresponsive worker does not make the other workers unready', async (t) => {
  const mx = start(t, ['--workers=2'])
  const admin = await readBanner(mx, 'admin')
  const { pid } = mx.child
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  const workers = children.map(Number)
  t.equal(workers.length, 2)
  const readyz = async (): Promise<[text: string, tookMs: number]> => {
    const requestedMs = performance.now()
    const answer = await fetch(`${admin}/readyz`, { headers: { connection: 'close' } })
    return [await answer.text(), performance.now() - requestedMs]
  }
  t.teardown(() => {
    for (const worker of workers) process.kill(worker, 'SIGKILL')
  })
  process.kill(workers[0]!, 'SIGSTOP')
  const [ready, readyMs] = await readyz()
  t.equal(ready, 'ready\n')
  t.ok(readyMs < 400, `${readyMs} ms: checks do not wait for the worker`)
  process.kill(workers[1]!, 'SIGSTOP')
  const [text, tookMs] = await readyz()
  t.equal(text, 'no worker responded within 500 ms\n')
  t.ok(tookMs < 3000, `${tookMs} ms`)
  process.kill(workers[0]!, 'SIGCONT')
  t.equal((await readyz())[0], 'ready\n')
})

t.test('a second signal during a drain ends the process immediately', async (t) => {
  const mx = start(t, ['--drain_delay=1h'])
  await mx.url()
  mx.child.kill('SIGTERM')
  await mx.waitUntil(/not ready/)
  mx.child.kill('SIGTERM')
  t.equal(await mx.ended, 1)
})

t.test('fails to start when the admin port is in use, and leaves nothing running', async (t) => {
  const { port } = new URL(`http://${await startBackend(t)}`)
  const conflicting = startMx(
    ['api', '--address=127.0.0.1:0', `--admin_address=127.0.0.1:${port}`],
    {
      cwd: t.testdir(),
    },
  )
  t.not(await conflicting.ended, 0)
  t.match(
    conflicting.output.stderr,
    /is in use by another program; choose another with --admin_address/,
  )
})

t.test('mx server also has an admin server', async (t) => {
  const mx = launchServer(t, ['--profile=test', '--admin_address=127.0.0.1:0'])
  const admin = await readBanner(mx, 'admin')
  t.equal(await status(`${admin}/readyz`), 200)
  await status(`${await readBanner(mx, 'gateway')}/unknown`)
  t.equal(await countRequests(admin, undefined), 1)
  mx.child.kill('SIGTERM')
  t.equal(await mx.ended, 0)
})
