import t from 'tap'
import { createDisposer } from '../../../lib/async/disposer.ts'

t.test('close runs disposers once, one at a time, in reverse order', async (t) => {
  const closed: string[] = []
  const closing = createDisposer()
  closing.add(() => void closed.push('first'))
  closing.add(async () => {
    await Promise.resolve()
    closed.push('second')
  })
  await Promise.all([closing.close(), closing.close()])
  t.same(closed, ['second', 'first'])
})

t.test('a disposer that throws does not prevent the others from running', async (t) => {
  const closed: string[] = []
  const closing = createDisposer()
  closing.add(() => void closed.push('first'))
  closing.add(() => {
    throw new Error('cannot')
  })
  closing.add(() => Promise.reject(new Error('will not')))
  await t.rejects(closing.close(), { message: 'will not' })
  t.same(closed, ['first'])
})
