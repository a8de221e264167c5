import { errorText, LabError } from '../domain/error.ts';
import { connectToParent } from '../protocol/child.ts';
import { type FromSql, type ToSql, toSqlSchema } from '../protocol/sql.ts';
import { runSql } from '../store/sql-session.ts';

/** Entry of the process that runs one query: see src/protocol/sql.ts. */

const connection = connectToParent<ToSql, FromSql>({
  schema: toSqlSchema,
  onMessage: answer,
  onEnd: () => undefined,
});

function answer({ runs, sql, limit }: ToSql): void {
  try {
    const { columns, rows, truncated } = runSql(runs, sql, { limit });
    connection.send({
      type: 'rows',
      columns: [...columns],
      rows: rows.map((row) => [...row]),
      truncated,
    });
  } catch (thrown) {
    const error = thrown instanceof LabError ? thrown : null;
    connection.send({
      type: 'failed',
      code: error?.code ?? 'internal',
      message: errorText(thrown),
      hint: error?.hint ?? null,
    });
  }
}
