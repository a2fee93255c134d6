import t from 'tap'
import { startRival } from '../../../bench/http/measure.ts'
import type { Scenario } from '../../../bench/http/scenario.ts'
import { SCENARIOS } from '../../../bench/http/scenarios.ts'
import { type Backend, startBackend } from '../../../bench/http/servers/backend.ts'
import { LARGE_JSON } from '../../../bench/http/servers/documents.ts'
import { RIVALS } from '../../../bench/rivals/all.ts'
import type { Rival } from '../../../bench/rivals/rival.ts'
import { skipUnless } from '../../fixtures/servers.ts'

const find = (name: string): Rival => RIVALS.find((rival) => rival.name === name)!
const scenarios = SCENARIOS.filter(({ handler }) => handler === 'rpc')

interface Answer {
  readonly status: number
  readonly type: string | null
  readonly body: string
}

/** Sends the request of a scenario, as wrk does. */
async function sendRequest(origin: string, scenario: Scenario): Promise<Answer> {
  const { path, method, body, accept } = scenario
  const reply = await fetch(`${origin}${path}`, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': body.type }),
      ...(accept === undefined ? {} : { accept }),
    },
    ...(body === undefined ? {} : { body: Buffer.from(body.create()) }),
  })
  return {
    status: reply.status,
    type: reply.headers.get('content-type'),
    body: Buffer.from(await reply.arrayBuffer()).toString('latin1'),
  }
}

/** Response of a rival in each RPC scenario, by name; the rival is started once per kind of backend. */
async function requestAll(rival: Rival, ports: Backend): Promise<Record<string, Answer>> {
  const responses: Record<string, Answer> = {}
  for (const kind of ['direct', 'server']) {
    const group = scenarios.filter(({ backend }) => backend === kind)
    const { site, stop } = await startRival(rival, group[0]!, ports)
    try {
      const origin = `http://127.0.0.1:${site.port}`
      await Promise.all(
        group.map(async (scenario) => {
          responses[scenario.name] = await sendRequest(origin, scenario)
        }),
      )
    } finally {
      await stop()
    }
  }
  return responses
}

t.test(
  'mx in front of a service and nginx in front of plain HTTP return identical responses',
  async (t) => {
    if (skipUnless(t, 'nginx') === undefined) return
    const backend = await startBackend(scenarios)
    t.teardown(() => backend.stop())
    const [mx, nginx] = await Promise.all([
      requestAll(find('mx'), backend),
      requestAll(find('nginx'), backend),
    ])
    t.same(mx, nginx)
    for (const [name, { status }] of Object.entries(mx)) t.equal(status, 200, name)
    t.equal(mx['rpc']?.body.length, 62)
    t.equal(mx['rpc-10k']?.body, LARGE_JSON)
    t.equal(LARGE_JSON.length, 10 * 1024)
    t.equal(mx['rpc-ticks']?.body.split('\n').length, 101)
  },
)

t.test('starts only the programs that the scenarios need', async (t) => {
  const backend = await startBackend([SCENARIOS[0]!])
  t.teardown(() => backend.stop())
  t.match(backend, { serverPort: 0, servicePort: 0, servicePid: 0 })
})
