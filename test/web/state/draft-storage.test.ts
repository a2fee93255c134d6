import t from 'tap'
import { readDraft, saveDraft } from '../../../web/state/draft-storage.ts'
import { chooseNamespace, endedSession, type Session, session } from '../../../web/state/session.ts'

const toSession = (id: string): Session => ({
  account: { id, issuer: 'mx', type: 'user', scopes: [], metadata: {} },
  namespace: 'mx',
  expires: 0,
})

t.test('stores drafts by key, namespace and account', async (t) => {
  session.value = toSession('ann')
  saveDraft(['config', 'shop'], 'typed')
  t.equal(readDraft(['config', 'shop']), 'typed')
  t.equal(readDraft(['config', 'other']), undefined)
  chooseNamespace('acme')
  t.equal(readDraft(['config', 'shop']), undefined)
  chooseNamespace(undefined)

  endedSession.value = session.value
  session.value = null
  t.equal(readDraft(['config', 'shop']), 'typed', 'an expired session')
  session.value = toSession('ann')
  endedSession.value = null
  t.equal(readDraft(['config', 'shop']), 'typed')
  session.value = toSession('jane')
  t.equal(readDraft(['config', 'shop']), undefined, 'another account')
  session.value = toSession('ann')
  t.equal(readDraft(['config', 'shop']), undefined, 'deleted by the other login')
})

t.test('deletes drafts when sent, and on logout', async (t) => {
  saveDraft(['config', 'shop'], 'typed')
  saveDraft(['config', 'shop'], undefined)
  t.equal(readDraft(['config', 'shop']), undefined)
  saveDraft(['config', 'shop'], 'typed')
  session.value = null
  session.value = toSession('ann')
  t.equal(readDraft(['config', 'shop']), undefined)
})
