import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Badge } from '../components/badge.tsx'
import { Confirm } from '../components/dialog/confirm.tsx'
import { Problem } from '../components/problem.tsx'
import { Search } from '../components/search.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { Time } from '../components/time/time.tsx'
import { showToast } from '../components/toast.tsx'
import { call } from '../rpc/caller.ts'
import type { AccountMessage } from './account.ts'
import { type AccountAction, AccountDialog } from './account-dialog.tsx'
import { AccountForm, NEW_ACCOUNT, type TypedAccount } from './account-form.tsx'
import type { MadeAccount } from './created-account.tsx'
import { SecretDialog } from './secret-dialog.tsx'
import { useAccounts } from './use-accounts.ts'

export interface AccountsProps {
  /** What is typed of an account that is to be made. */
  readonly typed: TypedAccount
  readonly onType: (typed: TypedAccount) => void
  readonly onMade: (account: MadeAccount) => void
}

/** Who may log in: the accounts of the namespace. */
export function Accounts({ typed, onType, onMade }: AccountsProps): JSX.Element {
  const [wanted, setWanted] = useState('')
  const [opened, setOpened] = useState<AccountMessage>()
  const [action, setAction] = useState<AccountAction>()
  // What is typed already is seen at once.
  const [isTyped] = useState(typed !== NEW_ACCOUNT)
  const accounts = useAccounts()
  const columns = useMemo(() => toColumns(setOpened), [])
  const found = useMemo(
    () => (accounts.value ?? []).filter((account) => isFound(account, wanted.trim())),
    [accounts.value, wanted],
  )

  function close(): void {
    setOpened(undefined)
    setAction(undefined)
  }

  return (
    <div class="records">
      <div class="toolbar">
        <Search label="Search accounts" value={wanted} onInput={setWanted} count={found.length} />
      </div>
      {accounts.error !== undefined && (
        <Problem
          error={accounts.error}
          asked="the list of accounts (auth Accounts.List)"
          onRetry={accounts.reload}
        />
      )}
      {accounts.value === undefined && accounts.state === 'loading' && <Loading />}
      {accounts.value !== undefined && (
        <Table
          label="Accounts"
          columns={columns}
          rows={found}
          keyOf={({ id }) => id}
          sortedBy="id"
          empty={
            <Empty
              title={accounts.value.length === 0 ? 'No accounts' : 'No account is like that'}
            />
          }
        />
      )}
      <details class="card" open={isTyped}>
        <summary>New account</summary>
        <AccountForm
          typed={typed}
          onType={onType}
          onMade={(account) => {
            onMade(account)
            accounts.reload()
          }}
        />
      </details>
      {opened !== undefined && action === undefined && (
        <AccountDialog account={opened} onClose={close} onAction={setAction} />
      )}
      {opened !== undefined && action === 'secret' && (
        <SecretDialog id={opened.id} onClose={close} />
      )}
      {opened !== undefined && action === 'revoke' && (
        <Confirm
          title={`Log ${opened.id} out everywhere?`}
          action="Log out"
          onConfirm={async () => {
            await call('auth', 'Auth.Revoke', { id: opened.id })
            showToast(`${opened.id} was logged out everywhere`)
          }}
          onClose={close}
        >
          <p>All tokens that were issued to it count for nothing. It can log in again.</p>
        </Confirm>
      )}
      {opened !== undefined && action === 'delete' && (
        <Confirm
          title={`Delete the account ${opened.id}?`}
          action="Delete account"
          dangerous
          onConfirm={async () => {
            await call('auth', 'Accounts.Delete', { id: opened.id })
            showToast(`The account ${opened.id} was deleted`)
            accounts.reload()
          }}
          onClose={close}
        >
          <p>
            It can log in no more, and what was issued to it counts for nothing: whoever uses it is
            out at once. This cannot be undone.
          </p>
        </Confirm>
      )}
    </div>
  )
}

function isFound({ id, name, type, scopes }: AccountMessage, wanted: string): boolean {
  const text = [id, name, type, ...scopes].join(' ').toLowerCase()
  return text.includes(wanted.toLowerCase())
}

function toColumns(onOpen: (account: AccountMessage) => void): readonly Column<AccountMessage>[] {
  return [
    {
      ...{ id: 'id', title: 'Id', heading: true, sort: ({ id }) => id },
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
      ...{ id: 'created', title: 'Made', minor: true, sort: ({ created }) => created },
      render: ({ created }) => <Time ms={created === 0 ? Number.NaN : created * 1000} />,
    },
  ]
}
