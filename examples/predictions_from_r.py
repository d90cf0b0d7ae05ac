"""Predictions of a model that was trained in R: a table of outputs is enough.

In R:

    model <- glm(outcome ~ ., data = train, family = binomial)
    everyone <- rbind(train, rest)
    write.csv(data.frame(truth    = everyone$outcome,
                         in_train = c(rep(TRUE, nrow(train)), rep(FALSE, nrow(rest))),
                         prob_yes = predict(model, everyone, type = "response")),
              "predictions.csv")

In a shell:

    guestlist audit --predictions predictions.csv --label truth --member in_train --probability prob_yes
"""

from pathlib import Path

import numpy as np

import guestlist as gl

# This example does not need R: it writes a table like write.csv, with row names, quotes, TRUE and FALSE. The model is
# more confident on its training records.
rng = np.random.default_rng(0)
rows = ['"","truth","in_train","prob_yes"']
for row in range(400):
    outcome, in_train = rng.random() < 0.5, row < 200
    sure = 1 / (1 + np.exp(-rng.normal(1.5 if in_train else 0.5)))
    answer = sure if outcome else 1 - sure
    rows.append(f'"{row + 1}","{"yes" if outcome else "no"}",{str(in_train).upper()},{answer:.15g}')
Path("predictions.csv").write_text("\n".join(rows) + "\n", "utf-8")

predictions = gl.read_predictions("predictions.csv", label="truth", member="in_train", probability="prob_yes")
results = gl.audit_predictions(predictions)
print(results.summary())
