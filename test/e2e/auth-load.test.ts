import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { openAuthServer } from '../fixtures/auth-endpoints.ts'

const CHANGES = 30
const CHANGE_MS = 100
const CALLERS = 4

const resource = { type: 'service', name: 'helloworld', endpoint: '*' }
const denyAll = { id: 'closed', scope: '', access: 'DENIED', resource, priority: 1 }
const allowWriters = { id: 'writers', scope: 'writer', access: 'GRANTED', resource, priority: 2 }

t.test(
  'denies forbidden calls on every endpoint while rules change ten times a second',
  async (t) => {
    const { sendRequest, transports, logIn } = await openAuthServer(t)
    await sendRequest('Auth.Generate', { id: 'ann', scopes: ['writer'], secret: 'ann-secret' })
    const ann = await logIn('ann', 'ann-secret')
    await sendRequest('Rules.Create', { rule: denyAll })
    const isClosed = async (token?: string): Promise<boolean> => {
      const codes = Object.values(transports).map(async (call) => {
        const { code } = await call('helloworld', 'Helloworld.Call', {}, token)
        return code === 401
      })
      return (await Promise.all(codes)).every((closed) => closed)
    }
    while (!(await isClosed()));

    const counts: Record<
      string,
      { anonymous: Record<string, number>; ann: Record<string, number> }
    > = {}
    let hasEnded = false
    const load = Object.entries(transports).flatMap(([name, call]) => {
      const count = { anonymous: {}, ann: {} } as { [caller: string]: Record<string, number> }
      counts[name] = count as (typeof counts)[string]
      return Array.from({ length: CALLERS }, async () => {
        while (!hasEnded)
          for (const [caller, token] of [
            ['anonymous', undefined],
            ['ann', ann],
          ] as const) {
            const { code } = await call('helloworld', 'Helloworld.Call', {}, token)
            count[caller]![code] = (count[caller]![code] ?? 0) + 1
          }
      })
    })
    for (let i = 0; i < CHANGES; i++) {
      if (i % 2 === 0) await sendRequest('Rules.Create', { rule: allowWriters })
      else await sendRequest('Rules.Delete', { id: allowWriters.id })
      await wait(CHANGE_MS)
    }
    const startedMs = performance.now()
    while (!(await isClosed(ann)));
    t.ok(performance.now() - startedMs < 1000, 'the last change is in force within a second')
    hasEnded = true
    await Promise.all(load)

    for (const [transport, { anonymous, ann: writer }] of Object.entries(counts)) {
      t.same(
        Object.keys(anonymous),
        ['401'],
        `${transport}: an account without a grant is always denied`,
      )
      t.same(
        Object.keys(writer).sort(),
        ['200', '401'],
        `${transport}: an account with a temporary grant is allowed and denied`,
      )
    }
  },
)
