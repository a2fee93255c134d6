import t from 'tap'
import { checkAll, MAX_CHECKS, toAccessChecks } from '../../../web/auth/access-checks.ts'

t.test('each account is asked about with each endpoint', (t) => {
  t.strictSame(toAccessChecks(['', 'jane'], ['A.B', 'C.D']), {
    questions: [
      { account: '', endpoint: 'A.B' },
      { account: '', endpoint: 'C.D' },
      { account: 'jane', endpoint: 'A.B' },
      { account: 'jane', endpoint: 'C.D' },
    ],
    total: 4,
  })
  t.end()
})

t.test('of too many the first are asked, and the total is told', (t) => {
  const many = Array.from({ length: 100 }, (_, i) => String(i))
  const { questions, total } = toAccessChecks(many, many)
  t.equal(questions.length, MAX_CHECKS)
  t.equal(total, 10_000)
  t.end()
})

t.test('answers are in the order of the questions, however long each takes', async (t) => {
  const waiting: (() => void)[] = []
  let most = 0
  const all = checkAll(
    Array.from({ length: 30 }, (_, i) => i),
    async (question) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        most = Math.max(most, waiting.length)
        if (waiting.length > 4 || question > 24) waiting.splice(0).reverse().forEach(call)
      })
      return question * 2
    },
  )
  t.strictSame(
    await all,
    Array.from({ length: 30 }, (_, i) => i * 2),
  )
  t.ok(most <= 8)
})

t.test('the first failure is told', async (t) => {
  const ask = async (question: number) => {
    if (question === 3) throw new Error('gone')
    return question
  }
  await t.rejects(checkAll([1, 2, 3, 4], ask), { message: 'gone' })
  t.strictSame(await checkAll([], ask), [])
})

function call(resolve: () => void): void {
  resolve()
}
