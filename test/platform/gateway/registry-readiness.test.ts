import t from 'tap'
import type { Registry, Service } from '../../../core/contracts/registry.ts'
import { trackReadiness } from '../../../platform/gateway/registry-readiness.ts'

const KNOWN: Registry = { name: 'test', getService: () => [], listServices: () => [] }
const NO_ANSWER = 'the registry has not responded yet'
const away = (): never => {
  throw new Error('unavailable')
}
const awayLater = async (): Promise<never> => away()

t.test('concurrent checks share one query, and none follows the first response', async (t) => {
  let answer: ((services: readonly Service[]) => void) | undefined
  let questions = 0
  const { problem } = trackReadiness({
    ...KNOWN,
    listServices() {
      questions++
      return new Promise((resolve) => {
        answer = resolve
      })
    },
  })
  t.same(await Promise.all([problem(), problem()]), [NO_ANSWER, NO_ANSWER])
  t.equal(await problem(), NO_ANSWER)
  t.equal(questions, 1)
  answer?.([])
  t.equal(await problem(), undefined)
  t.equal(problem(), undefined, 'without waiting')
  t.equal(questions, 1)
})

for (const [kind, fail] of [
  ['throws', away],
  ['rejects', awayLater],
] as const) {
  t.test(`queries again after a registry ${kind}, which does not make it ready`, async (t) => {
    const answers: Registry['listServices'][] = [fail, fail, () => []]
    const { problem } = trackReadiness({
      ...KNOWN,
      listServices: () => answers.shift()!(),
    })
    t.equal(await problem(), NO_ANSWER)
    t.equal(await problem(), NO_ANSWER)
    t.equal(await problem(), undefined)
  })

  t.test(`any successful query makes it ready, but a query that ${kind} does not`, async (t) => {
    for (const getService of [() => [], async () => []]) {
      const answers: Registry['getService'][] = [fail, getService]
      const { registry, problem } = trackReadiness({
        ...KNOWN,
        listServices: fail,
        getService: (name) => answers.shift()!(name),
      })
      await t.rejects(async () => registry.getService('greeter'), { message: 'unavailable' })
      t.equal(await problem(), NO_ANSWER)
      t.same(await registry.getService('greeter'), [])
      t.equal(problem(), undefined)
    }
  })
}

t.test('reports denied access until another result', async (t) => {
  const refusal = Object.assign(new Error('ACL not found: secret'), { denied: true })
  const answers: Registry['listServices'][] = [() => Promise.reject(refusal), away, () => []]
  const { problem } = trackReadiness({ ...KNOWN, listServices: () => answers.shift()!() })
  t.equal(await problem(), 'the registry denies access; see the log')
  t.equal(await problem(), NO_ANSWER)
  t.equal(await problem(), undefined)
})
