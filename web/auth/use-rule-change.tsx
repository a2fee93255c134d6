import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Confirm } from '../components/dialog/confirm.tsx'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import { findConsequence } from './rules.ts'

/** A change of the rules. */
export interface RuleChange {
  readonly endpoint: 'Rules.Create' | 'Rules.Delete'
  readonly request: object
  /** Called once it is done. */
  readonly onDone: () => void
}

interface Forced extends RuleChange {
  /** What could not be done any more. */
  readonly lost: string
}

/** Changes rules; a change that would lock everybody, or its maker, out is asked about first. */
export function useRuleChange(): {
  /** @throws {CallError} why it was not done, unless it is asked about. */
  readonly change: (change: RuleChange) => Promise<void>
  /** The question, to be drawn. */
  readonly question: JSX.Element | undefined
} {
  const [forced, setForced] = useState<Forced>()

  async function change({ endpoint, request, onDone }: RuleChange): Promise<void> {
    try {
      await call('auth', endpoint, request)
      onDone()
    } catch (thrown) {
      const error = CallError.from(thrown)
      const lost = findConsequence(error.code, error.detail)
      if (lost === undefined) throw error
      setForced({ endpoint, request, onDone, lost })
    }
  }

  const question = forced && (
    <Confirm
      title="This may lock you out"
      action="Do it nonetheless"
      dangerous
      onConfirm={async () => {
        await call('auth', forced.endpoint, { ...forced.request, force: true })
        forced.onDone()
      }}
      onClose={() => setForced(undefined)}
    >
      <p>Careful: {forced.lost}.</p>
      <p>Nothing has been changed so far.</p>
    </Confirm>
  )
  return { change, question }
}
