import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Field, type FieldControl } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { namespace } from '../state/session.ts'
import { describeScope } from './rules.ts'
import { useRuleChange } from './use-rule-change.tsx'

/** What is typed. */
export type TypedRule = Readonly<
  Record<'id' | 'access' | 'scope' | 'ownScope' | 'priority' | 'type' | 'name' | 'endpoint', string>
>

export const NEW_RULE: TypedRule = {
  ...{ id: '', access: 'GRANTED', scope: '', ownScope: '', priority: '0' },
  ...{ type: 'service', name: '', endpoint: '*' },
}

/** Of the list: a scope that is typed. */
const OWN = 'own'

export interface RuleFormProps {
  readonly typed: TypedRule
  readonly onType: (typed: TypedRule) => void
  readonly onMade: () => void
}

/** Makes a rule. */
export function RuleForm({ typed, onType, onMade }: RuleFormProps): JSX.Element {
  const [failure, setFailure] = useState<CallError>()
  const [busy, setBusy] = useState(false)
  const { change, question } = useRuleChange()

  async function create(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    setBusy(true)
    setFailure(undefined)
    const { id, access, scope, ownScope, priority, type, name, endpoint } = typed
    const resource = { type: type.trim(), name: name.trim(), endpoint: endpoint.trim() }
    const rule = {
      ...{ id: id.trim(), access, resource, priority: Number(priority) },
      scope: scope === OWN ? ownScope.trim() : scope,
    }
    try {
      await change({
        endpoint: 'Rules.Create',
        request: { rule },
        onDone() {
          showToast(`The rule ${rule.id} was made`)
          onType(NEW_RULE)
          onMade()
        },
      })
    } catch (error) {
      setFailure(CallError.from(error))
    }
    setBusy(false)
  }

  const input = (field: keyof TypedRule, more: JSX.IntrinsicElements['input'] = {}) =>
    function TextInput(control: FieldControl): JSX.Element {
      return (
        <input
          {...control}
          required
          autocomplete="off"
          spellcheck={false}
          value={typed[field]}
          onInput={({ currentTarget }) => onType({ ...typed, [field]: currentTarget.value })}
          {...more}
        />
      )
    }
  const select = (field: keyof TypedRule, choices: Readonly<Record<string, string>>) =>
    function Select(control: FieldControl): JSX.Element {
      return (
        <select
          {...control}
          value={typed[field]}
          onChange={({ currentTarget }) => onType({ ...typed, [field]: currentTarget.value })}
        >
          {Object.entries(choices).map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      )
    }
  const scopes = Object.fromEntries(
    ['', '*', '+'].map((scope) => [scope, describeScope(scope, namespace.value)]),
  )

  return (
    <form class="form record-form" aria-label="New rule" onSubmit={(event) => void create(event)}>
      <Field label="Id" help="Unique in the namespace.">
        {input('id', { maxLength: 128 })}
      </Field>
      <Field label="Access">{select('access', { GRANTED: 'granted', DENIED: 'denied' })}</Field>
      <Field label="To">
        {select('scope', { ...scopes, [OWN]: 'accounts that have the scope' })}
      </Field>
      {typed.scope === OWN && <Field label="Scope">{input('ownScope', { maxLength: 128 })}</Field>}
      <Field label="Resource type">
        {select('type', { service: 'service', topic: 'topic', '*': '* (all)' })}
      </Field>
      <Field label="Resource name" help="Full name of the service; *: all.">
        {input('name')}
      </Field>
      <Field label="Endpoint" help="Handler.Method or a path; Handler.*, /path/*; *: all.">
        {input('endpoint')}
      </Field>
      <Field label="Priority" help="Higher ones are asked first; of the same, those that deny.">
        {input('priority', { type: 'number', step: 1, min: -(2 ** 31 - 1), max: 2 ** 31 - 1 })}
      </Field>
      {failure !== undefined && (
        <Problem error={failure} asked={`make the rule ${typed.id} (auth Rules.Create)`} />
      )}
      <div class="form-actions">
        <button type="submit" class="primary" disabled={busy}>
          Make rule
        </button>
      </div>
      {question}
    </form>
  )
}
