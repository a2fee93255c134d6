import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Problem } from '../components/problem.tsx'
import { SelectField } from '../components/select-field.tsx'
import { Loading } from '../components/states.tsx'
import { TextField } from '../components/text-field.tsx'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import { useDraft } from '../state/draft-storage.ts'
import { namespace, session } from '../state/session.ts'
import { type AccessCheck, checkAll, MAX_CHECKS, toAccessChecks } from './access-checks.ts'
import type { AccessResult, RuleTest } from './rules.ts'
import { RulingTable } from './ruling-table.tsx'
import { useAccounts } from './use-accounts.ts'
import { useServices } from './use-services.ts'

type Caller = 'anonymous' | 'account' | 'all'

interface TestDraft {
  readonly caller: Caller
  readonly id: string
  readonly type: string
  readonly name: string
  readonly endpoint: string
}

const EMPTY: TestDraft = { caller: 'account', id: '', type: 'service', name: '', endpoint: '' }

interface Result {
  readonly rows: readonly AccessResult[]
  /** Number of checks before the limit is applied. */
  readonly total: number
}

/** Form that tests which callers the access rules grant or deny access, and by which rule. */
export function AccessTest(): JSX.Element {
  const { account } = session.value ?? {}
  const ownId = account?.issuer === namespace.value ? account.id : ''
  const initial = useMemo((): TestDraft => ({ ...EMPTY, id: ownId }), [])
  const [draft, setDraft] = useDraft(['auth', 'test'], initial)
  const change = (part: Partial<TestDraft>): void => setDraft({ ...draft, ...part })
  const { caller, id, type, name, endpoint } = draft
  const [invalid, setInvalid] = useState<string>()
  const [failure, setFailure] = useState<CallError>()
  const [busy, setBusy] = useState(false)
  const [result, setResult] = useState<Result>()
  const accounts = useAccounts()
  const services = useServices()
  const service = services.value?.find(
    (each) => each.name.toLowerCase() === name.trim().toLowerCase(),
  )
  const ids = (accounts.value ?? []).map((account) => account.id)

  async function test(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const endpoints = endpoint.trim() === '' ? (service?.endpoints ?? []) : [endpoint.trim()]
    const isMissing = endpoints.length === 0
    setInvalid(isMissing ? `required: the endpoints of ${name.trim()} are unknown` : undefined)
    if (isMissing) return
    setBusy(true)
    setFailure(undefined)
    const callers =
      caller === 'anonymous' ? [''] : caller === 'account' ? [id.trim()] : ['', ...ids]
    const { checks, total } = toAccessChecks(callers, endpoints)
    const check = async ({ account, endpoint }: AccessCheck): Promise<AccessResult> => {
      const resource = { type, name: name.trim(), endpoint }
      const request = { account, resource, ...(service && { domain: service.domain }) }
      const { body } = await call<RuleTest>('auth', 'Rules.Test', request)
      return { account, endpoint, ...body }
    }
    try {
      setResult({ rows: await checkAll(checks, check), total })
    } catch (error) {
      setFailure(CallError.from(error))
    }
    setBusy(false)
  }

  return (
    <div class="records">
      <p class="muted">
        Evaluates the access rules for a call. Most endpoints of built-in services additionally
        require the admin scope.
      </p>
      <form
        class="form record-form"
        aria-label="Test access rules"
        onSubmit={(event) => void test(event)}
      >
        <SelectField
          label="Caller"
          value={caller}
          choices={{
            account: 'Account',
            anonymous: 'Anonymous',
            ...(ids.length > 0 && { all: 'All accounts' }),
          }}
          onInput={(caller) => change({ caller })}
        />
        {caller === 'account' && (
          <TextField
            label="Account"
            help={
              accounts.state === 'failed'
                ? 'Without the admin scope you can test only your own account.'
                : undefined
            }
            required
            list="access-test-accounts"
            value={id}
            onInput={(id) => change({ id })}
          />
        )}
        <SelectField
          label="Resource type"
          value={type}
          choices={['service', 'topic']}
          onInput={(type) => change({ type })}
        />
        <TextField
          label="Name"
          required
          list="access-test-services"
          value={name}
          onInput={(name) => change({ name })}
        />
        <TextField
          label="Endpoint"
          help="Handler.Method or a path; leave empty for all endpoints of the service."
          error={invalid}
          list="access-test-endpoints"
          value={endpoint}
          onInput={(endpoint) => change({ endpoint })}
        />
        <div class="form-actions">
          <button type="submit" class="primary" disabled={busy}>
            Test
          </button>
        </div>
        <Choices id="access-test-accounts" values={ids} />
        <Choices
          id="access-test-services"
          values={(services.value ?? []).map((each) => each.name)}
        />
        <Choices id="access-test-endpoints" values={service?.endpoints ?? []} />
      </form>
      {failure !== undefined && (
        <Problem error={failure} subject={`test access to ${name} (auth Rules.Test)`} />
      )}
      {busy && <Loading label="Testing" />}
      {result !== undefined && (
        <>
          <RulingTable rows={result.rows} />
          {result.rows[0]?.warning !== undefined && (
            <p class="muted" role="alert">
              {result.rows[0].warning}
            </p>
          )}
          {result.total > MAX_CHECKS && (
            <p class="muted">
              Showing {result.rows.length} of {result.total}. Select an endpoint or an account.
            </p>
          )}
        </>
      )}
    </div>
  )
}

/** Suggestions for an input. */
function Choices({
  id,
  values,
}: {
  readonly id: string
  readonly values: readonly string[]
}): JSX.Element {
  return (
    <datalist id={id}>
      {values.map((value) => (
        <option key={value} value={value} />
      ))}
    </datalist>
  )
}
