import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { AccessTest } from '../auth/access-test.tsx'
import { credentialOf } from '../auth/account.ts'
import { NEW_ACCOUNT } from '../auth/account-form.tsx'
import { Accounts } from '../auth/accounts.tsx'
import { CreatedAccountDialog, NONE_CREATED } from '../auth/created-account.tsx'
import { NEW_RULE } from '../auth/rule-form.tsx'
import { RuleList } from '../auth/rule-list.tsx'
import { SecretDialog } from '../auth/secret-dialog.tsx'
import { Page } from '../components/page.tsx'
import { Tabs } from '../components/tabs.tsx'
import { QuotaTable } from '../quotas/quota-table.tsx'
import { useDraft } from '../state/draft-storage.ts'
import { query, setQuery } from '../state/router.ts'
import { namespace, session } from '../state/session.ts'
import '../style/records.css'

const TABS = [
  { id: 'accounts', title: 'Accounts' },
  { id: 'rules', title: 'Access rules' },
  { id: 'quotas', title: 'Quotas' },
  { id: 'test', title: 'Test' },
]

/** Accounts, access rules, quotas, and a form for testing rules. */
export default function Auth(): JSX.Element {
  const [isChangingSecret, setChangingSecret] = useState(false)
  const [newAccount, setNewAccount] = useDraft(['auth', 'account'], NEW_ACCOUNT)
  // Preserved across navigation, because the secret is returned only once.
  const [created, setCreated] = useDraft(['auth', 'created'], NONE_CREATED)
  const [newRule, setNewRule] = useDraft(['auth', 'rule'], NEW_RULE)
  const requestedTab = query.value.get('tab')
  const tab = TABS.find(({ id }) => id === requestedTab)?.id ?? 'accounts'
  const account = session.value?.account
  return (
    <Page
      title="Access"
      about={`Accounts and access rules of the namespace ${namespace.value}`}
      actions={
        account?.issuer === namespace.value && (
          <button type="button" onClick={() => setChangingSecret(true)}>
            Change my {credentialOf(account.type)}…
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
          <Accounts draft={newAccount} onChange={setNewAccount} onCreated={setCreated} />
        )}
        {tab === 'rules' && <RuleList draft={newRule} onChange={setNewRule} />}
        {tab === 'quotas' && <QuotaTable />}
        {tab === 'test' && <AccessTest />}
      </Tabs>
      {isChangingSecret && account !== undefined && (
        <SecretDialog
          id={account.id}
          type={account.type}
          onClose={() => setChangingSecret(false)}
        />
      )}
      {created !== NONE_CREATED && (
        <CreatedAccountDialog account={created} onClose={() => setCreated(NONE_CREATED)} />
      )}
    </Page>
  )
}
