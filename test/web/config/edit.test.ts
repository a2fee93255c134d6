import t from 'tap'
import {
  hideEdit,
  isDirty,
  revealEdit,
  settleEdit,
  startEdit,
  withOriginal,
} from '../../../web/config/edit.ts'

t.test('preserves input when a secret is revealed and hidden', async (t) => {
  const text = { ...startEdit(''), text: 'new' }
  t.match(revealEdit(text, 'old'), { original: 'old', text: 'new', isRevealed: true })
  t.match(hideEdit(revealEdit(text, 'old')), { original: '', text: 'new', isRevealed: false })
  const untouched = revealEdit(startEdit(''), 'old')
  t.equal(untouched.text, 'old')
  t.strictSame(hideEdit(untouched), startEdit(''), 'the secret is removed')
})

t.test('adopts changes by others, but does not overwrite unsaved input', async (t) => {
  t.strictSame(withOriginal(startEdit('one'), 'two'), startEdit('two'))
  t.equal(withOriginal({ ...startEdit('one'), text: 'mine' }, 'two').text, 'mine')
})

t.test('preserves input entered while another value is saved', async (t) => {
  const sent = { ...startEdit('one'), text: 'two' }
  t.strictSame(settleEdit(sent, 'two', 'two'), startEdit('two'))
  const since = settleEdit({ ...sent, text: 'two, and more' }, 'two', 'two')
  t.match(since, { original: 'two', text: 'two, and more' })
  t.ok(isDirty(since))
})
