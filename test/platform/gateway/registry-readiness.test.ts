import t from 'tap'
import type { Registry, Service } from '../../../core/contracts/registry.ts'
import { trackReadiness } from '../../../platform/gateway/registry-readiness.ts'

const KNOWN: Registry = { name: 'test', getService: () => [], listServices: () => [] }
const NO_ANSWER = 'the registry has not answered yet'
const away = (): never => {
  throw new Error('away')
}
const awayLater = async (): Promise<never> => away()

t.test(
  'those who want to know at one time put one question, and none once there is an answer',
  async (t) => {
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
  },
)

for (const [kind, fail] of [
  ['throws', away],
  ['rejects', awayLater],
] as const) {
  t.test(`a registry that ${kind} is asked again, and has not answered by that`, async (t) => {
    const answers: Registry['listServices'][] = [fail, fail, () => []]
    const { problem } = trackReadiness({
      ...KNOWN,
      listServices: () => answers.shift()!(),
    })
    t.equal(await problem(), NO_ANSWER)
    t.equal(await problem(), NO_ANSWER)
    t.equal(await problem(), undefined)
  })

  t.test(`an answer to anybody counts, and none that ${kind}`, async (t) => {
    for (const getService of [() => [], async () => []]) {
      const answers: Registry['getService'][] = [fail, getService]
      const { registry, problem } = trackReadiness({
        ...KNOWN,
        listServices: fail,
        getService: (name) => answers.shift()!(name),
      })
      await t.rejects(async () => registry.getService('greeter'), { message: 'away' })
      t.equal(await problem(), NO_ANSWER)
      t.same(await registry.getService('greeter'), [])
      t.equal(problem(), undefined)
    }
  })
}

t.test('that it refuses is told, until it does something else', async (t) => {
  const refusal = Object.assign(new Error('ACL not found: secret'), { denied: true })
  const answers: Registry['listServices'][] = [() => Promise.reject(refusal), away, () => []]
  const { problem } = trackReadiness({ ...KNOWN, listServices: () => answers.shift()!() })
  t.equal(await problem(), 'the registry refuses access: the log says why')
  t.equal(await problem(), NO_ANSWER)
  t.equal(await problem(), undefined)
})
