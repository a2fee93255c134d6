import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Confirm } from '../components/dialog/confirm.tsx'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import { findConsequence } from './rules.ts'

export interface RuleChange {
  readonly endpoint: 'Rules.Create' | 'Rules.Delete'
  readonly request: object
  readonly onDone: () => void
}

interface DangerousChange extends RuleChange {
  readonly consequence: string
}

/** Changes access rules. A change that would lock out administrators requires confirmation. */
export function useRuleChange(): {
  /** Applies a change. @throws {CallError} unless the change requires confirmation. */
  readonly change: (change: RuleChange) => Promise<void>
  /** Confirmation dialog to render. */
  readonly confirmation: JSX.Element | undefined
} {
  const [dangerous, setDangerous] = useState<DangerousChange>()

  async function change({ endpoint, request, onDone }: RuleChange): Promise<void> {
    try {
      await call('auth', endpoint, request)
      onDone()
    } catch (thrown) {
      const error = CallError.from(thrown)
      const consequence = findConsequence(error.code, error.detail)
      if (consequence === undefined) throw error
      setDangerous({ endpoint, request, onDone, consequence })
    }
  }

  const confirmation = dangerous && (
    <Confirm
      title="This may lock you out"
      action="Change anyway"
      dangerous
      onConfirm={async () => {
        await call('auth', dangerous.endpoint, { ...dangerous.request, force: true })
        dangerous.onDone()
      }}
      onClose={() => setDangerous(undefined)}
    >
      <p>Warning: {dangerous.consequence}.</p>
      <p>Nothing has been changed yet.</p>
    </Confirm>
  )
  return { change, confirmation }
}
