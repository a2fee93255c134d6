import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { Field } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { Loading } from '../components/states.tsx'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import { useDraft } from '../state/draft-storage.ts'
import { namespace, session } from '../state/session.ts'
import { type AccessCheck, checkAll, MAX_CHECKS, toAccessChecks } from './access-checks.ts'
import type { Answered, Tested } from './rules.ts'
import { RulingTable } from './ruling-table.tsx'
import { useAccounts } from './use-accounts.ts'
import { useServices } from './use-services.ts'

/** Whom it is asked about. */
type Who = 'nobody' | 'account' | 'everybody'

interface Typed {
  readonly who: Who
  readonly id: string
  readonly type: string
  readonly name: string
  readonly endpoint: string
}

const NOTHING: Typed = { who: 'account', id: '', type: 'service', name: '', endpoint: '' }

interface Result {
  readonly rows: readonly Answered[]
  /** Questions there would have been. */
  readonly total: number
}

/** Who may call what, and which rule says so. */
export function AccessTest(): JSX.Element {
  const { account: caller } = session.value ?? {}
  const own = caller?.issuer === namespace.value ? caller.id : ''
  const nothing = useMemo((): Typed => ({ ...NOTHING, id: own }), [])
  const [typed, setTyped] = useDraft(['auth', 'test'], nothing)
  const change = (part: Partial<Typed>): void => setTyped({ ...typed, ...part })
  const { who, id, type, name, endpoint } = typed
  const [wrong, setWrong] = useState<string>()
  const [failure, setFailure] = useState<CallError>()
  const [busy, setBusy] = useState(false)
  const [result, setResult] = useState<Result>()
  const accounts = useAccounts()
  const services = useServices()
  const service = services.value?.find(
    (one) => one.name.toLowerCase() === name.trim().toLowerCase(),
  )
  const ids = (accounts.value ?? []).map((account) => account.id)

  async function test(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const endpoints = endpoint.trim() === '' ? (service?.endpoints ?? []) : [endpoint.trim()]
    const isUnknown = endpoints.length === 0
    setWrong(isUnknown ? `name one: nobody knows the endpoints of ${name.trim()}` : undefined)
    if (isUnknown) return
    setBusy(true)
    setFailure(undefined)
    const whom = who === 'nobody' ? [''] : who === 'account' ? [id.trim()] : ['', ...ids]
    const { questions, total } = toAccessChecks(whom, endpoints)
    const ask = async ({ account, endpoint }: AccessCheck): Promise<Answered> => {
      const resource = { type, name: name.trim(), endpoint }
      const request = { account, resource, ...(service && { domain: service.domain }) }
      const { body } = await call<Tested>('auth', 'Rules.Test', request)
      return { account, endpoint, ...body }
    }
    try {
      setResult({ rows: await checkAll(questions, ask), total })
    } catch (error) {
      setFailure(CallError.from(error))
    }
    setBusy(false)
  }

  return (
    <div class="records">
      <p class="muted">
        What the rules say of a call. The services of the platform ask for more besides: most of
        their endpoints take an administrator.
      </p>
      <form
        class="form record-form"
        aria-label="Test the rules"
        onSubmit={(event) => void test(event)}
      >
        <Field label="Who calls">
          {(control) => (
            <select
              {...control}
              value={who}
              onChange={({ currentTarget }) => change({ who: currentTarget.value as Who })}
            >
              <option value="account">an account</option>
              <option value="nobody">somebody who is not logged in</option>
              {ids.length > 0 && <option value="everybody">all accounts, one by one</option>}
            </select>
          )}
        </Field>
        {who === 'account' && (
          <Field
            label="Account"
            help={accounts.state === 'failed' ? 'You may ask for your own only.' : undefined}
          >
            {(control) => (
              <input
                {...control}
                required
                list="access-test-accounts"
                autocomplete="off"
                spellcheck={false}
                value={id}
                onInput={({ currentTarget }) => change({ id: currentTarget.value })}
              />
            )}
          </Field>
        )}
        <Field label="Resource type">
          {(control) => (
            <select
              {...control}
              value={type}
              onChange={({ currentTarget }) => change({ type: currentTarget.value })}
            >
              <option value="service">service</option>
              <option value="topic">topic</option>
            </select>
          )}
        </Field>
        <Field label="Name">
          {(control) => (
            <input
              {...control}
              required
              list="access-test-services"
              autocomplete="off"
              spellcheck={false}
              value={name}
              onInput={({ currentTarget }) => change({ name: currentTarget.value })}
            />
          )}
        </Field>
        <Field
          label="Endpoint"
          help="Handler.Method or a path; empty: all the service has."
          error={wrong}
        >
          {(control) => (
            <input
              {...control}
              list="access-test-endpoints"
              autocomplete="off"
              spellcheck={false}
              value={endpoint}
              onInput={({ currentTarget }) => change({ endpoint: currentTarget.value })}
            />
          )}
        </Field>
        <div class="form-actions">
          <button type="submit" class="primary" disabled={busy}>
            Test
          </button>
        </div>
        <Choices id="access-test-accounts" values={ids} />
        <Choices
          id="access-test-services"
          values={(services.value ?? []).map((known) => known.name)}
        />
        <Choices id="access-test-endpoints" values={service?.endpoints ?? []} />
      </form>
      {failure !== undefined && (
        <Problem error={failure} asked={`who may call ${name} (auth Rules.Test)`} />
      )}
      {busy && <Loading label="Asking" />}
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
              These are {result.rows.length} of {result.total}: name an endpoint or an account.
            </p>
          )}
        </>
      )}
    </div>
  )
}

/** What a field suggests. */
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
