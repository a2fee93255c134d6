import t from 'tap'
import type { Registry, Service } from '../../core/contracts/registry.ts'
import { hearFirstAnswer } from '../../platform/first-answer.ts'

const KNOWN: Registry = { name: 'test', getService: () => [], listServices: () => [] }
const away = (): never => {
  throw new Error('away')
}
const awayLater = async (): Promise<never> => away()

t.test(
  'those who want to know at one time put one question, and none once there is an answer',
  async (t) => {
    let answer: ((services: readonly Service[]) => void) | undefined
    let questions = 0
    const { hasAnswered } = hearFirstAnswer({
      ...KNOWN,
      listServices() {
        questions++
        return new Promise((resolve) => {
          answer = resolve
        })
      },
    })
    t.same(await Promise.all([hasAnswered(), hasAnswered()]), [false, false])
    t.equal(await hasAnswered(), false)
    t.equal(questions, 1)
    answer?.([])
    t.equal(await hasAnswered(), true)
    t.equal(hasAnswered(), true, 'without waiting')
    t.equal(questions, 1)
  },
)

for (const [kind, fail] of [
  ['throws', away],
  ['rejects', awayLater],
] as const) {
  t.test(`a registry that ${kind} is asked again, and has not answered by that`, async (t) => {
    const answers: Registry['listServices'][] = [fail, fail, () => []]
    const { hasAnswered } = hearFirstAnswer({
      ...KNOWN,
      listServices: () => answers.shift()!(),
    })
    t.equal(await hasAnswered(), false)
    t.equal(await hasAnswered(), false)
    t.equal(await hasAnswered(), true)
  })

  t.test(`an answer to anybody counts, and none that ${kind}`, async (t) => {
    for (const getService of [() => [], async () => []]) {
      const answers: Registry['getService'][] = [fail, getService]
      const { registry, hasAnswered } = hearFirstAnswer({
        ...KNOWN,
        listServices: fail,
        getService: (name) => answers.shift()!(name),
      })
      await t.rejects(async () => registry.getService('greeter'), { message: 'away' })
      t.equal(await hasAnswered(), false)
      t.same(await registry.getService('greeter'), [])
      t.equal(hasAnswered(), true)
    }
  })
}
