import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { compareRules } from '../../core/auth/policy/compare-rules.ts'
import type { Rule } from '../../core/contracts/auth.ts'
import { Badge } from '../components/badge.tsx'
import { Confirm } from '../components/dialog/confirm.tsx'
import { Problem } from '../components/problem.tsx'
import { Search } from '../components/search.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { showToast } from '../components/toast.tsx'
import { useCall } from '../hooks/use-call.ts'
import { call } from '../rpc/caller.ts'
import { namespace } from '../state/session.ts'
import { NEW_RULE, RuleForm, type TypedRule } from './rule-form.tsx'
import { describeScope, formatResource } from './rules.ts'
import { useRuleChange } from './use-rule-change.tsx'

export interface RuleListProps {
  /** What is typed of a rule that is to be made. */
  readonly typed: TypedRule
  readonly onType: (typed: TypedRule) => void
}

/** Who may call what: the rules of the namespace, in the order in which they are asked. */
export function RuleList({ typed, onType }: RuleListProps): JSX.Element {
  const [wanted, setWanted] = useState('')
  const [deleted, setDeleted] = useState<Rule>()
  // What is typed already is seen at once.
  const [isTyped] = useState(typed !== NEW_RULE)
  const { change, question } = useRuleChange()
  const rules = useCall(async (signal) => {
    const { body } = await call<{ rules: Rule[] }>('auth', 'Rules.List', {}, { signal })
    return body.rules.sort(compareRules)
  }, [])
  const columns = useMemo(() => toColumns(setDeleted), [])
  const found = useMemo(
    () => (rules.value ?? []).filter((rule) => isFound(rule, wanted.trim())),
    [rules.value, wanted],
  )
  return (
    <div class="records">
      <div class="toolbar">
        <Search label="Search rules" value={wanted} onInput={setWanted} count={found.length} />
      </div>
      {rules.error !== undefined && (
        <Problem
          error={rules.error}
          asked="the list of rules (auth Rules.List)"
          onRetry={rules.reload}
        />
      )}
      {rules.value === undefined && rules.state === 'loading' && <Loading />}
      {rules.value !== undefined && (
        <>
          <p class="muted">
            The first rule that fits caller and resource decides; where none does, the call is
            denied. This is the order in which they are asked.
          </p>
          <Table
            label="Rules"
            columns={columns}
            rows={found}
            keyOf={({ id }) => id}
            empty={
              <Empty title={rules.value.length === 0 ? 'No rules' : 'No rule is like that'}>
                {rules.value.length === 0 && 'Every call is denied.'}
              </Empty>
            }
          />
        </>
      )}
      <details class="card" open={isTyped}>
        <summary>New rule</summary>
        <RuleForm typed={typed} onType={onType} onMade={rules.reload} />
      </details>
      {deleted !== undefined && (
        <Confirm
          title={`Delete the rule ${deleted.id}?`}
          action="Delete rule"
          dangerous
          onConfirm={() =>
            change({
              endpoint: 'Rules.Delete',
              request: { id: deleted.id },
              onDone() {
                showToast(`The rule ${deleted.id} was deleted`)
                rules.reload()
              },
            })
          }
          onClose={() => setDeleted(undefined)}
        >
          <p>
            {deleted.access === 'GRANTED' ? 'It grants' : 'It denies'}{' '}
            <b>{formatResource(deleted.resource)}</b> to{' '}
            {describeScope(deleted.scope, namespace.value)}.
          </p>
        </Confirm>
      )}
      {question}
    </div>
  )
}

function isFound({ id, scope, access, resource }: Rule, wanted: string): boolean {
  const text = `${id} ${scope} ${access} ${formatResource(resource)}`.toLowerCase()
  return text.includes(wanted.toLowerCase())
}

function toColumns(onDelete: (rule: Rule) => void): readonly Column<Rule>[] {
  return [
    { ...{ id: 'id', title: 'Rule', heading: true, sort: ({ id }) => id }, render: ({ id }) => id },
    {
      ...{ id: 'access', title: 'Access', sort: ({ access }) => access },
      render: ({ access }) => (
        <Badge tone={access === 'GRANTED' ? 'good' : 'bad'}>{access.toLowerCase()}</Badge>
      ),
    },
    {
      ...{ id: 'resource', title: 'Resource', sort: ({ resource }) => formatResource(resource) },
      render: ({ resource }) => (
        <span class="mono" title={formatResource(resource)}>
          {formatResource(resource)}
        </span>
      ),
    },
    {
      ...{ id: 'scope', title: 'To', sort: ({ scope }) => scope },
      render: ({ scope }) => describeScope(scope, namespace.value),
    },
    {
      ...{ id: 'priority', title: 'Priority', align: 'end', sort: ({ priority }) => priority },
      render: ({ priority }) => priority,
    },
    {
      ...{ id: 'actions', title: 'Actions', align: 'end' },
      render: (rule) => (
        <button
          type="button"
          class="quiet"
          aria-label={`Delete the rule ${rule.id}`}
          onClick={() => onDelete(rule)}
        >
          Delete
        </button>
      ),
    },
  ]
}
