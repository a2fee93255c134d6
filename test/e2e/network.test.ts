// Servers in processes of their own, linked, killed, stopped and continued.
import t, { type Test } from 'tap'
import type { Client } from '../../sdk/client.ts'
import type { RouteMessage } from '../../services/network/messages.ts'
import { eventually, type Running, start } from '../fixtures/greeters.ts'
import { openClient } from '../fixtures/sdk-services.ts'

t.setTimeout(120_000)

interface Server extends Running {
  readonly id: string
  readonly client: Client
}

interface Options {
  readonly nodes?: readonly Server[]
  readonly serves?: string
  /** Of an earlier one. */
  readonly port?: string
}

async function startServer(t: Test, id: string, options: Options = {}): Promise<Server> {
  const { nodes = [], serves = '', port = '0' } = options
  const running = await start(t, new URL('../fixtures/network-process.ts', import.meta.url), {
    NETWORK_ID: id,
    NETWORK_PORT: port,
    NETWORK_NODES: nodes.map(({ address }) => address).join(),
    NETWORK_SERVES: serves,
  })
  return { ...running, id, client: openClient(t, { address: running.address, retries: 0 }) }
}

const portOf = ({ address }: Server): string => address.slice(address.lastIndexOf(':') + 1)

async function kill({ child, ended }: Server): Promise<void> {
  child.kill('SIGKILL')
  await ended
}

/** Where a service answers; the code of the error where it does not. */
async function where({ client }: Server, service: string): Promise<unknown> {
  try {
    return await client.call(service, 'A.Where', {}, { timeoutMs: 10_000 })
  } catch (error) {
    return (error as { readonly code: number }).code
  }
}

async function ways({ client }: Server, service: string): Promise<string> {
  const { routes } = await client.call<{ routes: RouteMessage[] }>('network', 'Network.Routes', {
    query: { service },
  })
  return routes.map(({ path }) => path.join(' ')).join(', ')
}

const answers = (server: Server, service: string, at: unknown) =>
  eventually(async () => (await where(server, service)) === at)

/** Milliseconds until it holds. */
async function timed(waiting: Promise<void>): Promise<number> {
  const startMs = performance.now()
  await waiting
  return performance.now() - startMs
}

/** Callers that never rest: failures by code, and how many calls there were. */
function load(t: Test, server: Server, service: string, callers: number) {
  const failures: unknown[] = []
  let count = 0
  let stopped = false
  const run = async (): Promise<void> => {
    while (!stopped) {
      const answer = await where(server, service)
      count++
      if (typeof answer === 'number') failures.push(answer)
    }
  }
  const running = Array.from({ length: callers }, run)
  const stop = async (): Promise<void> => {
    stopped = true
    await Promise.all(running)
  }
  t.teardown(stop)
  const more = (n: number): Promise<void> => {
    const end = count + n
    return eventually(async () => count >= end)
  }
  return { failures, more, stop }
}

t.test('a ring of five: one that is killed is gone round within a second', async (t) => {
  const a = await startServer(t, 'a')
  const b = await startServer(t, 'b', { nodes: [a] })
  const c = await startServer(t, 'c', { nodes: [b], serves: 'greeter' })
  const d = await startServer(t, 'd', { nodes: [c] })
  const e = await startServer(t, 'e', { nodes: [d, a] })
  await answers(a, 'greeter', 'c')
  await eventually(async () => (await ways(a, 'greeter')) === 'b c, e d c')
  const { failures, more, stop } = load(t, a, 'greeter', 8)
  await more(200)
  await kill(b)
  const ms = await timed(eventually(async () => (await ways(a, 'greeter')) === 'e d c'))
  t.ok(ms < 1000, `${Math.round(ms)} ms`)
  await more(200)
  t.ok(failures.length <= 8, `${failures.length} of 8 callers`)
  t.ok(failures.every((code) => code === 502))
  failures.length = 0
  const again = await startServer(t, 'b', { nodes: [a, c], port: portOf(b) })
  await eventually(async () => (await ways(a, 'greeter')).startsWith('b c'))
  t.equal(await where(again, 'greeter'), 'c')
  await more(200)
  await stop()
  t.strictSame(failures, [], 'and back without a failure')
  t.equal(await where(e, 'greeter'), 'c')
})

t.test('a line that is parted in the middle comes together again', async (t) => {
  const a = await startServer(t, 'a', { serves: 'left' })
  const b = await startServer(t, 'b', { nodes: [a] })
  const c = await startServer(t, 'c', { nodes: [b] })
  const d = await startServer(t, 'd', { nodes: [c], serves: 'right' })
  await answers(a, 'right', 'd')
  await answers(d, 'left', 'a')
  // It neither answers nor closes anything: to others the network is parted.
  b.child.kill('SIGSTOP')
  t.teardown(() => b.child.kill('SIGCONT'))
  const ms = await timed(eventually(async () => (await ways(d, 'left')) === ''))
  t.ok(ms < 6000, `heard dead after ${Math.round(ms)} ms`)
  await answers(d, 'left', 404)
  await answers(a, 'right', 404)
  t.equal(await where(c, 'right'), 'd', 'either part goes on')
  t.equal(await where(a, 'left'), 'a')
  b.child.kill('SIGCONT')
  await answers(a, 'right', 'd')
  await answers(d, 'left', 'a')
})

t.test('a star: its middle is killed, and started anew', async (t) => {
  const hub = await startServer(t, 'hub')
  const a = await startServer(t, 'a', { nodes: [hub] })
  const b = await startServer(t, 'b', { nodes: [hub], serves: 'greeter' })
  await answers(a, 'greeter', 'b')
  await kill(hub)
  t.ok((await timed(answers(a, 'greeter', 404))) < 1000)
  t.equal(await where(b, 'greeter'), 'b')
  await startServer(t, 'hub', { port: portOf(hub) })
  await answers(a, 'greeter', 'b')
})

t.test('a server that is killed: what it has is called at another one', async (t) => {
  const a = await startServer(t, 'a')
  const b = await startServer(t, 'b', { nodes: [a], serves: 'greeter' })
  const c = await startServer(t, 'c', { nodes: [a], serves: 'greeter' })
  await eventually(async () => (await ways(a, 'greeter')) === 'b, c')
  const { failures, more, stop } = load(t, a, 'greeter', 8)
  await more(200)
  await kill(b)
  await more(400)
  await stop()
  t.ok(failures.length <= 8, `${failures.length} of 8 callers`)
  t.ok(failures.every((code) => code === 502))
  t.equal(await where(a, 'greeter'), 'c')
  c.child.kill('SIGTERM')
  t.equal(await c.ended, 0)
  t.equal(await where(a, 'greeter'), 404)
})
