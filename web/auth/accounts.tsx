import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Badge } from '../components/badge.tsx'
import { CallStatus } from '../components/call-status.tsx'
import { Confirm } from '../components/dialog/confirm.tsx'
import { Search } from '../components/search.tsx'
import { Empty } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { Time } from '../components/time/time.tsx'
import { showToast } from '../components/toast.tsx'
import { call } from '../rpc/caller.ts'
import type { AccountMessage } from './account.ts'
import { type AccountAction, AccountDialog } from './account-dialog.tsx'
import { type AccountDraft, AccountForm, NEW_ACCOUNT } from './account-form.tsx'
import type { CreatedAccount } from './created-account.tsx'
import { SecretDialog } from './secret-dialog.tsx'
import { useAccounts } from './use-accounts.ts'

export interface AccountsProps {
  /** Content of the form for a new account. */
  readonly draft: AccountDraft
  readonly onChange: (draft: AccountDraft) => void
  readonly onCreated: (account: CreatedAccount) => void
}

/** Accounts of the namespace. */
export function Accounts({ draft, onChange, onCreated }: AccountsProps): JSX.Element {
  const [search, setSearch] = useState('')
  const [opened, setOpened] = useState<AccountMessage>()
  const [action, setAction] = useState<AccountAction>()
  // Opens the form immediately if a draft is stored.
  const [isFormOpen] = useState(draft !== NEW_ACCOUNT)
  const accounts = useAccounts()
  const columns = useMemo(() => toColumns(setOpened), [])
  const results = useMemo(
    () => (accounts.value ?? []).filter((account) => matches(account, search.trim())),
    [accounts.value, search],
  )

  function close(): void {
    setOpened(undefined)
    setAction(undefined)
  }

  return (
    <div class="records">
      <div class="toolbar">
        <Search label="Search accounts" value={search} onInput={setSearch} count={results.length} />
      </div>
      <CallStatus call={accounts} subject="list of accounts (auth Accounts.List)" />
      {accounts.value !== undefined && (
        <Table
          label="Accounts"
          columns={columns}
          rows={results}
          keyOf={({ id }) => id}
          sortedBy="id"
          empty={
            <Empty title={accounts.value.length === 0 ? 'No accounts' : 'No matching accounts'} />
          }
        />
      )}
      <details class="card" open={isFormOpen}>
        <summary>New account</summary>
        <AccountForm
          draft={draft}
          onChange={onChange}
          onCreated={(account) => {
            onCreated(account)
            accounts.reload()
          }}
        />
      </details>
      {opened !== undefined && action === undefined && (
        <AccountDialog account={opened} onClose={close} onAction={setAction} />
      )}
      {opened !== undefined && action === 'secret' && (
        <SecretDialog id={opened.id} type={opened.type} onClose={close} />
      )}
      {opened !== undefined && action === 'revoke' && (
        <Confirm
          title={`Log ${opened.id} out everywhere?`}
          action="Log out"
          onConfirm={async () => {
            await call('auth', 'Auth.Revoke', { id: opened.id })
            showToast(`${opened.id} logged out everywhere`)
          }}
          onClose={close}
        >
          <p>Revokes all tokens of the account. It can log in again.</p>
        </Confirm>
      )}
      {opened !== undefined && action === 'delete' && (
        <Confirm
          title={`Delete account ${opened.id}?`}
          action="Delete account"
          dangerous
          onConfirm={async () => {
            await call('auth', 'Accounts.Delete', { id: opened.id })
            showToast(`Account ${opened.id} deleted`)
            accounts.reload()
          }}
          onClose={close}
        >
          <p>
            Revokes all tokens of the account and logs it out immediately. This cannot be undone.
          </p>
        </Confirm>
      )}
    </div>
  )
}

function matches({ id, name, type, scopes }: AccountMessage, search: string): boolean {
  const text = [id, name, type, ...scopes].join(' ').toLowerCase()
  return text.includes(search.toLowerCase())
}

function toColumns(onOpen: (account: AccountMessage) => void): readonly Column<AccountMessage>[] {
  return [
    {
      ...{ id: 'id', title: 'ID', heading: true, sort: ({ id }) => id },
      render: (account) => (
        <button
          type="button"
          class="record-open"
          aria-label={`Account ${account.id}`}
          onClick={() => onOpen(account)}
        >
          {account.id}
        </button>
      ),
    },
    {
      ...{ id: 'name', title: 'Name', minor: true, sort: ({ name }) => name },
      render: ({ name }) => name,
    },
    {
      ...{ id: 'type', title: 'Type', sort: ({ type }) => type },
      render: ({ type }) => <Badge tone={type === 'service' ? 'accent' : 'neutral'}>{type}</Badge>,
    },
    {
      ...{ id: 'scopes', title: 'Scopes', sort: ({ scopes }) => scopes.join() },
      render: ({ scopes }) => scopes.join(', ') || <span class="muted">none</span>,
    },
    {
      ...{ id: 'created', title: 'Created', minor: true, sort: ({ created }) => created },
      render: ({ created }) => <Time ms={created === 0 ? Number.NaN : created * 1000} />,
    },
  ]
}
