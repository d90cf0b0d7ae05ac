def audit(model, members, nonmembers, out, references, mode="online-carlini", fix_variance=False):
    from sacroml.attacks.likelihood_attack import LIRAAttack
    from sacroml.attacks.target import Target

    target = Target(
        model=model,
        dataset_name="digits",
        X_train=members[0],
        y_train=members[1],
        X_test=nonmembers[0],
        y_test=nonmembers[1],
    )
    attack = LIRAAttack(
        output_dir=out,
        n_shadow_models=references,
        mode=mode,
        fix_variance=fix_variance,
        report_individual=True,
    )
    return attack.attack(target)
