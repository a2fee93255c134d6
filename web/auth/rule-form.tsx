import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Field, type FieldControl } from '../components/field.tsx'
import { Problem } from '../components/problem.tsx'
import { showToast } from '../components/toast.tsx'
import { CallError } from '../rpc/call-error.ts'
import { namespace } from '../state/session.ts'
import { describeScope } from './rules.ts'
import { useRuleChange } from './use-rule-change.tsx'

export type RuleDraft = Readonly<
  Record<
    'id' | 'access' | 'scope' | 'customScope' | 'priority' | 'type' | 'name' | 'endpoint',
    string
  >
>

export const NEW_RULE: RuleDraft = {
  ...{ id: '', access: 'GRANTED', scope: '', customScope: '', priority: '0' },
  ...{ type: 'service', name: '', endpoint: '*' },
}

/** Option for a scope entered by the user. */
const CUSTOM = 'custom'

export interface RuleFormProps {
  readonly draft: RuleDraft
  readonly onChange: (draft: RuleDraft) => void
  readonly onCreated: () => void
}

/** Form that creates an access rule. */
export function RuleForm({ draft, onChange, onCreated }: RuleFormProps): JSX.Element {
  const [failure, setFailure] = useState<CallError>()
  const [busy, setBusy] = useState(false)
  const { change, confirmation } = useRuleChange()

  async function create(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    setBusy(true)
    setFailure(undefined)
    const { id, access, scope, customScope, priority, type, name, endpoint } = draft
    const resource = { type: type.trim(), name: name.trim(), endpoint: endpoint.trim() }
    const rule = {
      ...{ id: id.trim(), access, resource, priority: Number(priority) },
      scope: scope === CUSTOM ? customScope.trim() : scope,
    }
    try {
      await change({
        endpoint: 'Rules.Create',
        request: { rule },
        onDone() {
          showToast(`Access rule ${rule.id} created`)
          onChange(NEW_RULE)
          onCreated()
        },
      })
    } catch (error) {
      setFailure(CallError.from(error))
    }
    setBusy(false)
  }

  const input = (field: keyof RuleDraft, more: JSX.IntrinsicElements['input'] = {}) =>
    function TextInput(control: FieldControl): JSX.Element {
      return (
        <input
          {...control}
          required
          autocomplete="off"
          spellcheck={false}
          value={draft[field]}
          onInput={({ currentTarget }) => onChange({ ...draft, [field]: currentTarget.value })}
          {...more}
        />
      )
    }
  const select = (field: keyof RuleDraft, choices: Readonly<Record<string, string>>) =>
    function Select(control: FieldControl): JSX.Element {
      return (
        <select
          {...control}
          value={draft[field]}
          onChange={({ currentTarget }) => onChange({ ...draft, [field]: currentTarget.value })}
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
    <form
      class="form record-form"
      aria-label="New access rule"
      onSubmit={(event) => void create(event)}
    >
      <Field label="ID" help="Unique in the namespace.">
        {input('id', { maxLength: 128 })}
      </Field>
      <Field label="Access">{select('access', { GRANTED: 'granted', DENIED: 'denied' })}</Field>
      <Field label="To">{select('scope', { ...scopes, [CUSTOM]: 'accounts with a scope' })}</Field>
      {draft.scope === CUSTOM && (
        <Field label="Scope">{input('customScope', { maxLength: 128 })}</Field>
      )}
      <Field label="Resource type">
        {select('type', { service: 'service', topic: 'topic', '*': '* (all)' })}
      </Field>
      <Field label="Resource name" help="Full service name, or * for all.">
        {input('name')}
      </Field>
      <Field label="Endpoint" help="Handler.Method, Handler.*, a path, /path/*, or * for all.">
        {input('endpoint')}
      </Field>
      <Field
        label="Priority"
        help="Higher priorities are evaluated first; at equal priority, deny rules."
      >
        {input('priority', { type: 'number', step: 1, min: -(2 ** 31 - 1), max: 2 ** 31 - 1 })}
      </Field>
      {failure !== undefined && (
        <Problem error={failure} subject={`create access rule ${draft.id} (auth Rules.Create)`} />
      )}
      <div class="form-actions">
        <button type="submit" class="primary" disabled={busy}>
          Create rule
        </button>
      </div>
      {confirmation}
    </form>
  )
}
