import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Problem } from '../components/problem.tsx'
import { SelectField } from '../components/select-field.tsx'
import { TextField } from '../components/text-field.tsx'
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

  const bind = <Name extends keyof RuleDraft>(name: Name) => ({
    value: draft[name],
    onInput: (text: string) => onChange({ ...draft, [name]: text }),
  })
  const scopes = Object.fromEntries(
    ['', '*', '+'].map((scope) => [scope, describeScope(scope, namespace.value)]),
  )

  return (
    <form
      class="form record-form"
      aria-label="New access rule"
      onSubmit={(event) => void create(event)}
    >
      <TextField
        label="ID"
        help="Unique in the namespace."
        required
        maxLength={128}
        {...bind('id')}
      />
      <SelectField
        label="Access"
        choices={{ GRANTED: 'granted', DENIED: 'denied' }}
        {...bind('access')}
      />
      <SelectField
        label="To"
        choices={{ ...scopes, [CUSTOM]: 'accounts with a scope' }}
        {...bind('scope')}
      />
      {draft.scope === CUSTOM && (
        <TextField label="Scope" required maxLength={128} {...bind('customScope')} />
      )}
      <SelectField
        label="Resource type"
        choices={{ service: 'service', topic: 'topic', '*': '* (all)' }}
        {...bind('type')}
      />
      <TextField
        label="Resource name"
        help="Full service name, or * for all."
        required
        {...bind('name')}
      />
      <TextField
        label="Endpoint"
        help="Handler.Method, Handler.*, a path, /path/*, or * for all."
        required
        {...bind('endpoint')}
      />
      <TextField
        label="Priority"
        help="Rules with a higher priority are evaluated first; at equal priority, deny rules come first."
        type="number"
        required
        step={1}
        min={-(2 ** 31 - 1)}
        max={2 ** 31 - 1}
        {...bind('priority')}
      />
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
