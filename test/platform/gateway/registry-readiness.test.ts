import t from 'tap'
import type { Registry, Service } from '../../../core/contracts/registry.ts'
import { trackReadiness } from '../../../platform/gateway/registry-readiness.ts'

const KNOWN: Registry = { name: 'test', getService: () => [], listServices: () => [] }
const NO_RESPONSE = 'the registry has not responded yet'
const failNow = (): never => {
  throw new Error('unavailable')
}
const failLater = async (): Promise<never> => failNow()

t.test('concurrent checks share one query, and none follows the first response', async (t) => {
  let answer: ((services: readonly Service[]) => void) | undefined
  let queries = 0
  const { problem } = trackReadiness({
    ...KNOWN,
    listServices() {
      queries++
      return new Promise((resolve) => {
        answer = resolve
      })
    },
  })
  t.same(await Promise.all([problem(), problem()]), [NO_RESPONSE, NO_RESPONSE])
  t.equal(await problem(), NO_RESPONSE)
  t.equal(queries, 1)
  answer?.([])
  t.equal(await problem(), undefined)
  t.equal(problem(), undefined, 'without waiting')
  t.equal(queries, 1)
})

for (const [kind, fail] of [
  ['throws', failNow],
  ['rejects', failLater],
] as const) {
  t.test(`queries again after a registry ${kind}, which does not make it ready`, async (t) => {
    const responses: Registry['listServices'][] = [fail, fail, () => []]
    const { problem } = trackReadiness({
      ...KNOWN,
      listServices: () => responses.shift()!(),
    })
    t.equal(await problem(), NO_RESPONSE)
    t.equal(await problem(), NO_RESPONSE)
    t.equal(await problem(), undefined)
  })

  t.test(`any successful query makes it ready, but a query that ${kind} does not`, async (t) => {
    for (const getService of [() => [], async () => []]) {
      const responses: Registry['getService'][] = [fail, getService]
      const { registry, problem } = trackReadiness({
        ...KNOWN,
        listServices: fail,
        getService: (name) => responses.shift()!(name),
      })
      await t.rejects(async () => registry.getService('greeter'), { message: 'unavailable' })
      t.equal(await problem(), NO_RESPONSE)
      t.same(await registry.getService('greeter'), [])
      t.equal(problem(), undefined)
    }
  })
}

t.test('reports denied access until another result', async (t) => {
  const rejection = Object.assign(new Error('ACL not found: secret'), { denied: true })
  const responses: Registry['listServices'][] = [() => Promise.reject(rejection), failNow, () => []]
  const { problem } = trackReadiness({ ...KNOWN, listServices: () => responses.shift()!() })
  t.equal(await problem(), 'the registry denies access; see the log')
  t.equal(await problem(), NO_RESPONSE)
  t.equal(await problem(), undefined)
})
