import t from 'tap'
import { checkAll, MAX_CHECKS, toAccessChecks } from '../../../web/auth/access-checks.ts'

t.test('combines each account with each endpoint', (t) => {
  t.strictSame(toAccessChecks(['', 'jane'], ['A.B', 'C.D']), {
    checks: [
      { account: '', endpoint: 'A.B' },
      { account: '', endpoint: 'C.D' },
      { account: 'jane', endpoint: 'A.B' },
      { account: 'jane', endpoint: 'C.D' },
    ],
    total: 4,
  })
  t.end()
})

t.test('returns the first checks and the total if there are too many', (t) => {
  const many = Array.from({ length: 100 }, (_, i) => String(i))
  const { checks, total } = toAccessChecks(many, many)
  t.equal(checks.length, MAX_CHECKS)
  t.equal(total, 10_000)
  t.end()
})

t.test('returns results in input order, with limited concurrency', async (t) => {
  const pending: (() => void)[] = []
  let maxPending = 0
  const all = checkAll(
    Array.from({ length: 30 }, (_, i) => i),
    async (check) => {
      await new Promise<void>((resolve) => {
        pending.push(resolve)
        maxPending = Math.max(maxPending, pending.length)
        if (pending.length > 4 || check > 24) pending.splice(0).reverse().forEach(call)
      })
      return check * 2
    },
  )
  t.strictSame(
    await all,
    Array.from({ length: 30 }, (_, i) => i * 2),
  )
  t.ok(maxPending <= 8)
})

t.test('rejects with the first error', async (t) => {
  const run = async (check: number) => {
    if (check === 3) throw new Error('failed')
    return check
  }
  await t.rejects(checkAll([1, 2, 3, 4], run), { message: 'failed' })
  t.strictSame(await checkAll([], run), [])
})

function call(resolve: () => void): void {
  resolve()
}
