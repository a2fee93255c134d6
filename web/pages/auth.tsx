import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { AccessTest } from '../auth/access-test.tsx'
import { NEW_ACCOUNT } from '../auth/account-form.tsx'
import { Accounts } from '../auth/accounts.tsx'
import { MadeAccountDialog, NOT_MADE } from '../auth/created-account.tsx'
import { NEW_RULE } from '../auth/rule-form.tsx'
import { RuleList } from '../auth/rule-list.tsx'
import { SecretDialog } from '../auth/secret-dialog.tsx'
import { Page } from '../components/page.tsx'
import { Tabs } from '../components/tabs.tsx'
import { useDraft } from '../state/draft-storage.ts'
import { query, setQuery } from '../state/router.ts'
import { namespace, session } from '../state/session.ts'
import '../style/records.css'

const TABS = [
  { id: 'accounts', title: 'Accounts' },
  { id: 'rules', title: 'Rules' },
  { id: 'test', title: 'Test' },
]

/** Who may log in, and who may call what. */
export default function Auth(): JSX.Element {
  const [changes, setChanges] = useState(false)
  const [newAccount, setNewAccount] = useDraft(['auth', 'account'], NEW_ACCOUNT)
  // What is told this once waits until it was read, wherever one goes meanwhile.
  const [made, setMade] = useDraft(['auth', 'made'], NOT_MADE)
  const [newRule, setNewRule] = useDraft(['auth', 'rule'], NEW_RULE)
  const wanted = query.value.get('tab')
  const tab = TABS.find(({ id }) => id === wanted)?.id ?? 'accounts'
  const account = session.value?.account
  return (
    <Page
      title="Access"
      about={`Accounts and rules of the namespace ${namespace.value}`}
      actions={
        account?.issuer === namespace.value && (
          <button type="button" onClick={() => setChanges(true)}>
            Change my secret…
          </button>
        )
      }
    >
      <Tabs
        label="Access"
        tabs={TABS}
        selected={tab}
        onSelect={(id) => setQuery('tab', id === 'accounts' ? '' : id)}
      >
        {tab === 'accounts' && (
          <Accounts typed={newAccount} onType={setNewAccount} onMade={setMade} />
        )}
        {tab === 'rules' && <RuleList typed={newRule} onType={setNewRule} />}
        {tab === 'test' && <AccessTest />}
      </Tabs>
      {changes && account !== undefined && (
        <SecretDialog id={account.id} onClose={() => setChanges(false)} />
      )}
      {made !== NOT_MADE && <MadeAccountDialog made={made} onClose={() => setMade(NOT_MADE)} />}
    </Page>
  )
}
