import t from 'tap'
import {
  beginEdit,
  hideEdit,
  isTyped,
  revealEdit,
  settleEdit,
  withBefore,
} from '../../../web/config/edit.ts'

t.test('what is typed stays when a secret is shown and hidden', async (t) => {
  const typed = { ...beginEdit(''), typed: 'new' }
  t.match(revealEdit(typed, 'old'), { before: 'old', typed: 'new', isRevealed: true })
  t.match(hideEdit(revealEdit(typed, 'old')), { before: '', typed: 'new', isRevealed: false })
  const untouched = revealEdit(beginEdit(''), 'old')
  t.equal(untouched.typed, 'old')
  t.strictSame(hideEdit(untouched), beginEdit(''), 'nothing of the secret stays')
})

t.test('what others set is taken, but not over what is typed', async (t) => {
  t.strictSame(withBefore(beginEdit('one'), 'two'), beginEdit('two'))
  t.equal(withBefore({ ...beginEdit('one'), typed: 'mine' }, 'two').typed, 'mine')
})

t.test('what is typed while another value is being set stays', async (t) => {
  const sent = { ...beginEdit('one'), typed: 'two' }
  t.strictSame(settleEdit(sent, 'two', 'two'), beginEdit('two'))
  const since = settleEdit({ ...sent, typed: 'two, and more' }, 'two', 'two')
  t.match(since, { before: 'two', typed: 'two, and more' })
  t.ok(isTyped(since))
})
