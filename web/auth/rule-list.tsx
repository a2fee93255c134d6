import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { compareRules } from '../../core/auth/policy/compare-rules.ts'
import type { Rule } from '../../core/contracts/auth.ts'
import { Badge } from '../components/badge.tsx'
import { CallStatus } from '../components/call-status.tsx'
import { Confirm } from '../components/dialog/confirm.tsx'
import { Search } from '../components/search.tsx'
import { Empty } from '../components/states.tsx'
import { type Column, Table } from '../components/table/table.tsx'
import { showToast } from '../components/toast.tsx'
import { useCall } from '../hooks/use-call.ts'
import { call } from '../rpc/caller.ts'
import { namespace } from '../state/session.ts'
import { NEW_RULE, type RuleDraft, RuleForm } from './rule-form.tsx'
import { describeScope, formatResource } from './rules.ts'
import { useRuleChange } from './use-rule-change.tsx'

export interface RuleListProps {
  /** Content of the form for a new rule. */
  readonly draft: RuleDraft
  readonly onChange: (draft: RuleDraft) => void
}

/** Access rules of the namespace, in order of evaluation. */
export function RuleList({ draft, onChange }: RuleListProps): JSX.Element {
  const [search, setSearch] = useState('')
  const [deleting, setDeleting] = useState<Rule>()
  // Opens the form immediately if a draft is stored.
  const [isFormOpen] = useState(draft !== NEW_RULE)
  const { change, confirmation } = useRuleChange()
  const rules = useCall(async (signal) => {
    const { body } = await call<{ rules: Rule[] }>('auth', 'Rules.List', {}, { signal })
    return body.rules.sort(compareRules)
  }, [])
  const columns = useMemo(() => toColumns(setDeleting), [])
  const results = useMemo(
    () => (rules.value ?? []).filter((rule) => matches(rule, search.trim())),
    [rules.value, search],
  )
  return (
    <div class="records">
      <div class="toolbar">
        <Search
          label="Search access rules"
          value={search}
          onInput={setSearch}
          count={results.length}
        />
      </div>
      <CallStatus call={rules} subject="list of access rules (auth Rules.List)" />
      {rules.value !== undefined && (
        <>
          <p class="muted">
            In order of evaluation. The first rule that matches the caller and the resource applies;
            calls without a matching rule are denied.
          </p>
          <Table
            label="Access rules"
            columns={columns}
            rows={results}
            keyOf={({ id }) => id}
            empty={
              <Empty
                title={rules.value.length === 0 ? 'No access rules' : 'No matching access rules'}
              >
                {rules.value.length === 0 && 'All calls are denied.'}
              </Empty>
            }
          />
        </>
      )}
      <details class="card" open={isFormOpen}>
        <summary>New access rule</summary>
        <RuleForm draft={draft} onChange={onChange} onCreated={rules.reload} />
      </details>
      {deleting !== undefined && (
        <Confirm
          title={`Delete access rule ${deleting.id}?`}
          action="Delete rule"
          dangerous
          onConfirm={() =>
            change({
              endpoint: 'Rules.Delete',
              request: { id: deleting.id },
              onDone() {
                showToast(`Access rule ${deleting.id} deleted`)
                rules.reload()
              },
            })
          }
          onClose={() => setDeleting(undefined)}
        >
          <p>
            {deleting.access === 'GRANTED' ? 'It grants' : 'It denies'}{' '}
            <b>{formatResource(deleting.resource)}</b> to{' '}
            {describeScope(deleting.scope, namespace.value)}.
          </p>
        </Confirm>
      )}
      {confirmation}
    </div>
  )
}

function matches({ id, scope, access, resource }: Rule, search: string): boolean {
  const text = `${id} ${scope} ${access} ${formatResource(resource)}`.toLowerCase()
  return text.includes(search.toLowerCase())
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
          aria-label={`Delete access rule ${rule.id}`}
          onClick={() => onDelete(rule)}
        >
          Delete
        </button>
      ),
    },
  ]
}
