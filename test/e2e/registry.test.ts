import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { createMxRegistry } from '../../adapters/registry/mx.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { startMx } from '../fixtures/mx.ts'

t.setTimeout(120_000)

interface Running {
  readonly child: ChildProcess
  readonly pid: number
  /** `host:port` */
  readonly address: string
  readonly ended: Promise<number | null>
}

/** Starts a program of the fixtures, and waits until it has said where it is. */
async function start(t: Test, file: URL, env: Record<string, string>): Promise<Running> {
  const child = spawn(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), fileURLToPath(file)],
    {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  t.teardown(() => child.kill('SIGKILL'))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const [line] = await once(child.stdout!, 'data')
  return { child, pid: child.pid!, address: String(line).trim(), ended }
}

const startRegistry = (t: Test, address = '127.0.0.1:0') =>
  start(t, new URL('../fixtures/registry-process.ts', import.meta.url), {
    MX_SERVICE_ADDRESS: address,
  })

const startGreeter = (t: Test, registry: Running) =>
  start(t, new URL('../fixtures/greeter-process.ts', import.meta.url), {
    MX_REGISTRY: `mx://${registry.address}`,
  })

async function startGateway(t: Test, registry: Running): Promise<string> {
  const words = ['api', '--address=127.0.0.1:0', '--access_log=off']
  const env = { MX_REGISTRY: `mx://${registry.address}` }
  const mx = startMx(words, { cwd: t.testdir(), env })
  t.teardown(async () => {
    mx.child.kill('SIGTERM')
    await mx.ended
  })
  return `${await mx.url()}/greeter/where`
}

const CLIENTS = 8

/** Clients that never rest. */
function load(t: Test, url: string) {
  const agent = new Agent({ connections: CLIENTS })
  const answered = new Map<number, number>()
  const failures: string[] = []
  let count = 0
  let stopped = false
  const run = async (): Promise<void> => {
    while (!stopped) {
      const { statusCode, body } = await request(url, { dispatcher: agent })
      const text = await body.text()
      count++
      if (statusCode === 200) {
        const { pid } = JSON.parse(text) as { pid: number }
        answered.set(pid, (answered.get(pid) ?? 0) + 1)
      } else failures.push(`${statusCode} ${text}`)
    }
  }
  const clients = Array.from({ length: CLIENTS }, run)
  const stop = async (): Promise<void> => {
    stopped = true
    await Promise.all(clients)
  }
  t.teardown(async () => {
    await stop()
    await agent.destroy()
  })
  const by = ({ pid }: Running): number => answered.get(pid) ?? 0
  return {
    failures,
    by,
    stop,
    /** Waits for some more requests. */
    more: (n: number) => {
      const end = count + n
      return eventually(async () => count >= end)
    },
    /** Waits until these have answered more requests. */
    heard: (...running: Running[]) => {
      const before = running.map(by)
      return eventually(async () => running.every((one, i) => by(one) > before[i]!))
    },
  }
}

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
}

function open(t: Test, { address }: Running): Registry {
  const registry = createMxRegistry({ host: '127.0.0.1', port: Number(address.split(':')[1]) })
  t.teardown(() => registry.close?.())
  return registry
}

async function nodesOf(registry: Registry): Promise<string[]> {
  const services = await registry.getService('go.mx.api.greeter')
  return services.flatMap(({ nodes }) => nodes.map(({ address }) => address)).sort()
}

t.test('a service that starts is served within a second', async (t) => {
  const registry = await startRegistry(t)
  const url = await startGateway(t, registry)
  t.equal((await fetch(url)).status, 404)
  await startGreeter(t, registry)
  const readyMs = performance.now()
  await eventually(async () => (await fetch(url)).status === 200)
  t.ok(performance.now() - readyMs < 1000, 'as soon as it is ready')
})

t.test(
  'a service that stops costs no request, one that is killed those it was serving',
  async (t) => {
    const registry = await startRegistry(t)
    const url = await startGateway(t, registry)
    const [stays, stops] = [await startGreeter(t, registry), await startGreeter(t, registry)]
    const { failures, heard, by, more, stop } = load(t, url)
    await heard(stays, stops)
    stops.child.kill('SIGTERM')
    t.equal(await stops.ended, 0)
    const answered = by(stops)
    await more(200)
    t.same(failures, [])
    t.equal(by(stops), answered, 'it gets no more calls')
    t.same(await nodesOf(open(t, registry)), [stays.address], 'and is gone from the registry')
    const dies = await startGreeter(t, registry)
    await heard(stays, dies)
    dies.child.kill('SIGKILL')
    await dies.ended
    // Those that were under way have ended.
    await more(CLIENTS)
    const lost = failures.length
    t.ok(lost <= CLIENTS, `${lost} were under way`)
    t.ok(failures.every((failure) => failure.startsWith('502 ')))
    await more(1000)
    await stop()
    t.equal(failures.length, lost, 'none later')
  },
)

t.test('a registry that dies and is restarted empty costs no request', async (t) => {
  const first = await startRegistry(t)
  const [url, ...services] = await Promise.all([
    startGateway(t, first),
    startGreeter(t, first),
    startGreeter(t, first),
  ])
  const { failures, heard, more, stop } = load(t, url)
  await heard(...services)
  first.child.kill('SIGKILL')
  await first.ended
  await more(200)
  await heard(...services)
  const second = await startRegistry(t, first.address)
  const startedMs = performance.now()
  const registry = open(t, second)
  await eventually(async () => (await nodesOf(registry)).length === 2)
  t.ok(performance.now() - startedMs < 15_000, 'long before the next heartbeat')
  t.same(await nodesOf(registry), services.map(({ address }) => address).sort())
  await more(200)
  await heard(...services)
  const third = await startGreeter(t, second)
  await heard(third)
  await stop()
  t.same(failures, [])
})
