import t from 'tap'
import { createDisposer } from '../../../lib/async/disposer.ts'

t.test('what was opened last is closed first, once, one after the other', async (t) => {
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

t.test('one that fails keeps none of the others from being closed', async (t) => {
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
