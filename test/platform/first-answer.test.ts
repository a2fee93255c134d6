import t from 'tap'
import type { Service } from '../../core/contracts/registry.ts'
import { createFirstAnswer } from '../../platform/first-answer.ts'

t.test(
  'those who want to know at one time put one question, and none once there is an answer',
  async (t) => {
    let answer: ((services: readonly Service[]) => void) | undefined
    let questions = 0
    const hasAnswered = createFirstAnswer({
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
  [
    'throws',
    () => {
      throw new Error('away')
    },
  ],
  ['rejects', () => Promise.reject(new Error('away'))],
] as const) {
  t.test(`a registry that ${kind} is asked again, and has not answered by that`, async (t) => {
    const answers: (() => readonly Service[] | Promise<readonly Service[]>)[] = [
      fail,
      fail,
      () => [],
    ]
    const hasAnswered = createFirstAnswer({ listServices: () => answers.shift()!() })
    t.equal(await hasAnswered(), false)
    t.equal(await hasAnswered(), false)
    t.equal(await hasAnswered(), true)
  })
}
